import { type AppContext, answerJson, type PlainAnswer, type RouteContext } from './context.ts';

/** RFC 6797 §6.1; §7.2: never over plain HTTP. */
export const strictTransport = ['strict-transport-security', 'max-age=31536000; includeSubDomains'] as const;

/**
 * Answers 200 with uncached JSON text of ASCII, and these fields: names, in lower case, and values, alternating. For the busiest operations
 * (docs/decisions/062): fields set one by one, and a text whose bytes Koa and Node each count, take longer than composing both here.
 */
export function answerPlainJson(ctx: AppContext | RouteContext, text: string, ...more: readonly string[]): void {
  const length = String(text.length);
  const fields = ['content-type', 'application/json', 'content-length', length, 'cache-control', 'no-store', ...more];
  answer(ctx, { status: 200, fields, text });
}

/** Characters up to which a text of an operation that is less busy is a plain answer. */
const shortText = 16_384;

/** Answers 200 with uncached JSON text: plainly where it is short and ASCII, by Koa otherwise. */
export function answerOnce(ctx: AppContext | RouteContext, text: string): void {
  if (text.length <= shortText && Buffer.byteLength(text) === text.length) answerPlainJson(ctx, text);
  else answerJson(ctx, text);
}

/** Answers 304: the caller has the version that this tag names (RFC 9110 §15.4.5). */
export function answerUnchanged(ctx: AppContext | RouteContext, tag: string, cacheControl: string): void {
  answer(ctx, { status: 304, fields: ['cache-control', cacheControl, 'etag', tag], text: '' });
}

function answer(ctx: AppContext | RouteContext, whole: PlainAnswer): void {
  ctx.res.statusCode = whole.status;
  ctx.state.answer = whole;
}

/** The entity tag of a plain answer. */
export function plainTag({ state: { answer } }: AppContext): string | undefined {
  const at = answer?.fields.indexOf('etag') ?? -1;
  return at < 0 ? undefined : answer?.fields[at + 1];
}

/** Writes the answer in place of Koa, including fields that were set elsewhere. */
export function writePlainAnswer(ctx: AppContext, { status, fields, text }: PlainAnswer): void {
  ctx.respond = false;
  if (ctx.request.secure) fields.push(...strictTransport);
  ctx.res.writeHead(status, fields);
  ctx.res.end(text, 'latin1');
}
