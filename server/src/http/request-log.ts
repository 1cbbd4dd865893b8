import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '../logger.ts';
import { parseTraceParent } from '../tracing/traceparent.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { AppContext } from './context.ts';

interface RequestLogDeps {
  readonly logger: Logger;
  /** True to log requests answered below 500 as well. */
  readonly logRequests: boolean;
  readonly tracing?: Pick<Tracing, 'traceId'> | undefined;
}

/** Writes one line about each request, and how long it took (docs/reference/logs.md). */
export function requestLog(deps: RequestLogDeps): (ctx: AppContext, milliseconds: number) => void {
  return (ctx, milliseconds) => {
    const { state, req } = ctx;
    const { status } = ctx.response;
    // Refusals by budgets are counted, and said once a minute.
    if (status === 429) return;
    // An unknown method is the caller's error, and nothing for an operator.
    const failed = status >= 500 && status !== 501;
    if (!failed && !deps.logRequests) return;
    const members = {
      requestId: state.requestId,
      method: req.method,
      // The pattern of the route: paths are the caller's text.
      route: ctx['_matchedRoute'] ?? null,
      status,
      us: Math.round(milliseconds * 1000),
      principal: state.principal?.name,
      address: state.principal === undefined || status >= 400 ? state.address : undefined,
      trace_id: deps.tracing?.traceId() ?? sentTraceId(req.headers),
      ...state.logDetail,
    };
    deps.logger[failed ? 'error' : 'info'](members, 'request');
  };
}

function sentTraceId({ traceparent }: IncomingHttpHeaders): string | undefined {
  return traceparent === undefined ? undefined : parseTraceParent(traceparent)?.traceId;
}
