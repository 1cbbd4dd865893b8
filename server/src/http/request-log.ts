import type { IncomingHttpHeaders } from 'node:http';
import { type Logger, lineWriter } from '../logger.ts';
import { shortLine } from '../short-text.ts';
import { parseTraceParent } from '../tracing/traceparent.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { AppContext, RequestState } from './context.ts';

interface RequestLogDeps {
  readonly logger: Logger;
  /** Whether requests answered below 500 are logged. */
  readonly logRequests: boolean;
  readonly tracing?: Pick<Tracing, 'traceId'> | undefined;
}

/** Writes one line about each request, and how long it took (docs/reference/logs.md). */
export function requestLog(deps: RequestLogDeps): (ctx: AppContext, milliseconds: number) => void {
  const write = lineWriter(deps.logger, 'request');
  return (ctx, milliseconds) => {
    const { state, req } = ctx;
    const { status } = ctx.response;
    // Refusals by budgets are counted, and said once a minute.
    if (status === 429) return;
    // A method that nobody knows is the caller's doing, and nothing for an operator.
    const failed = status >= 500 && status !== 501;
    if (!failed && !deps.logRequests) return;
    // The route, not what was sent: paths are the caller's text.
    const route = JSON.stringify(ctx['_matchedRoute'] ?? null);
    const us = Math.round(milliseconds * 1000);
    const what = `,"requestId":"${state.requestId}","method":"${req.method}","route":${route},"status":${status},"us":${us}`;
    const traceId = deps.tracing?.traceId() ?? sentTraceId(req.headers);
    const trace = traceId === undefined ? '' : `,"trace_id":"${traceId}"`;
    write(failed ? 'error' : 'info', `${what}${callerOf(state, status)}${trace}${detailOf(state)}`);
  };
}

function callerOf({ principal, address }: RequestState, status: number): string {
  // Names hold nothing that JSON escapes.
  const name = principal === undefined ? '' : `,"principal":"${principal.name}"`;
  return principal === undefined || status >= 400 ? `${name},"address":${JSON.stringify(address)}` : name;
}

function sentTraceId({ traceparent }: IncomingHttpHeaders): string | undefined {
  return traceparent === undefined ? undefined : parseTraceParent(traceparent)?.traceId;
}

function detailOf({ logDetail }: RequestState): string {
  if (logDetail === undefined) return '';
  const members = typeof logDetail === 'string' ? logDetail : JSON.stringify(shortLine(logDetail)).slice(1, -1);
  return members === '' ? '' : `,${members}`;
}
