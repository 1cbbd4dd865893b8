/** The context of a caller's trace, as W3C Trace Context has it. */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

/** Version 00: ids of zeros mean nothing, and versions to come are not guessed at. */
const grammar = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Parsed `traceparent` header; undefined unless it is well-formed. It is a name for a trace, and proves nothing. */
export function parseTraceParent(header: string | readonly string[] | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = (typeof header === 'string' && grammar.exec(header)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** The header that hands a trace on. */
export function formatTraceParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}
