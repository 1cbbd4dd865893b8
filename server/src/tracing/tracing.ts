import {
  type Attributes,
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { formatTraceParent, parseTraceParent } from './traceparent.ts';

/** Spans. INVARIANT: no attribute holds a token, a certificate request, a principal or anything else that a caller sent. */
type SpanName = 'signet.sign' | 'signet.store' | 'signet.attest' | 'signet.sts';

/** Facts about a request when it is answered. */
interface AnsweredRequest {
  readonly method: string;
  readonly route: string | undefined;
  readonly status: number;
}

/** Spans for whoever collects them. */
export interface Tracing {
  /** Runs a request in a span that goes on with the trace of its caller, if it names one. */
  request(traceparent: string | undefined, work: () => Promise<AnsweredRequest>): Promise<void>;
  /** Runs `work` in a span below the one that is active; what no request asked for has none. */
  around<Result>(name: SpanName, attributes: Attributes, work: () => Promise<Result>): Promise<Result>;
  /** The same for what ends before it returns. */
  aroundNow<Result>(name: SpanName, attributes: Attributes, work: () => Result): Result;
  traceId(): string | undefined;
  /** The header that hands the active span on to another service. */
  traceparent(): string | undefined;
}

/** Undefined where no SDK collects spans. */
export function tracingOfSdk(): Tracing | undefined {
  const provider = trace.getTracerProvider();
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer('signet') === undefined) return undefined;
  return tracingWith(trace.getTracer('signet'));
}

function tracingWith(tracer: Tracer): Tracing {
  return {
    request(traceparent, work) {
      const parent = parseTraceParent(traceparent);
      const above =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.flags,
              isRemote: true,
            });
      return tracer.startActiveSpan('signet.request', { kind: SpanKind.SERVER }, above, (span) =>
        ending(span, async () => describe(span, await work())),
      );
    },
    around(name, attributes, work) {
      if (trace.getActiveSpan() === undefined) return work();
      return tracer.startActiveSpan(name, { kind: kindOf(name), attributes }, (span) => ending(span, work));
    },
    aroundNow(name, attributes, work) {
      if (trace.getActiveSpan() === undefined) return work();
      const span = tracer.startSpan(name, { attributes });
      try {
        return work();
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    traceId: () => trace.getSpanContext(context.active())?.traceId,
    traceparent() {
      const active = trace.getSpanContext(context.active());
      return active && formatTraceParent({ ...active, flags: active.traceFlags });
    },
  };
}

function kindOf(name: SpanName): SpanKind {
  return name === 'signet.sign' ? SpanKind.INTERNAL : SpanKind.CLIENT;
}

async function ending<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** The name of an error is ours; its message may quote what a caller sent. */
function fail(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
}

/** Sets the attributes of OpenTelemetry's conventions for HTTP. */
function describe(span: Span, { method, route, status }: AnsweredRequest): void {
  span.setAttribute('http.request.method', knownMethods.has(method) ? method : '_OTHER');
  if (route !== undefined) span.setAttribute('http.route', route);
  span.setAttribute('http.response.status_code', status);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

const knownMethods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '));
