import { JsonLimitError, type JsonLimits, JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import { InvalidRequestError, TooLargeError } from '../errors.ts';
import type { AppContext, Middleware, RouteContext } from './context.ts';
import { TransportError } from './transport-error.ts';

const formType = 'application/x-www-form-urlencoded';
const jsonType = 'application/json';

/** Bodies up to this length, in bytes, are read directly: what the parser does for any type, charset and length costs a tenth of a token. */
const shortBody = 16_384;

/**
 * Reads a form body of at most `limitBytes` as text. Only the raw text is taken from the parser: parameters are flat here, and
 * it would build nested objects. Throws 415 for another type, charset or a compressed body, 413 and 400 while reading.
 */
export function readForm(limitBytes: number): Middleware {
  return readText(formType, limitBytes);
}

const wrongLength = 'the body is not as long as announced';

/** Reads a body whose length was announced: the parser of HTTP lets no more of it pass. */
function readShort({ req, request }: AppContext): Promise<void> {
  return new Promise((resolve, reject) => {
    // A destroyed request emits no further events; the parser would wait for them as well.
    if (req.destroyed) return reject(new InvalidRequestError(wrongLength));
    let bytes: Buffer | undefined;
    req.on('data', (chunk: Buffer) => {
      bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk]);
    });
    req.on('end', () => {
      const text = bytes?.toString() ?? '';
      request.rawBody = text.startsWith('\uFEFF') ? text.slice(1) : text;
      resolve();
    });
    req.on('error', () => reject(new InvalidRequestError(wrongLength)));
  });
}

/** Default limits of a JSON body beside its bytes: requests for certificates, bundles and logins are small. */
const smallJson: JsonLimits = { items: 1000, names: 2000, values: 10_000 };

/**
 * Reads a JSON body of at most `limitBytes` as text, with the same errors as `readForm`; `limits` are for `bodyJson`, which parses it.
 */
export function readJson(limitBytes: number, limits: JsonLimits = smallJson): Middleware {
  const read = readText(jsonType, limitBytes);
  return (ctx, next) => {
    ctx.state.jsonLimits = limits;
    return read(ctx, next);
  };
}

/** A body without an announced length is not short. */
function readText(type: string, limitBytes: number): Middleware {
  const directly = Math.min(shortBody, limitBytes);
  const parse = parsed(type, limitBytes);
  return (ctx, next) => {
    checkType(ctx, type);
    // A client takes as long as it likes for a body, and what spoke for it may have ended meanwhile.
    const goOn = () => {
      const again = ctx.state.authenticateAgain?.(ctx);
      return again === undefined ? next() : again.then(next);
    };
    return Number(ctx.req.headers['content-length']) <= directly ? readShort(ctx).then(goOn) : parse(ctx, goOn);
  };
}

/** The parser is loaded when there is something for it: most requests have a short body or none. */
function parsed(type: string, limitBytes: number): Middleware {
  let parser: Promise<Middleware> | undefined;
  return async (ctx, next) => {
    parser ??= parserOf(type, limitBytes);
    const read = await parser;
    if (ctx.req.destroyed) throw new InvalidRequestError(wrongLength);
    // The encoding is `identity`, which the parser knows in lower case only.
    delete ctx.req.headers['content-encoding'];
    return read(ctx, next);
  };
}

async function parserOf(type: string, limitBytes: number): Promise<Middleware> {
  const { default: bodyParser } = await import('koa-bodyparser');
  return bodyParser({
    enableTypes: ['text'],
    extendTypes: { text: [type] },
    textLimit: String(limitBytes),
    onerror: (error) => {
      throw readingError(error);
    },
  });
}

/** The text that `readForm` or `readJson` has read; empty when there was no body. */
export function bodyText(ctx: AppContext | RouteContext): string {
  return typeof ctx.request.rawBody === 'string' ? ctx.request.rawBody : '';
}

/**
 * The value of a JSON body, in which no member may stand twice: readers disagree on which one counts. Throws `InvalidRequestError`, and
 * `TooLargeError` for more in it than `readJson` was told to take. A member `__proto__` would get lost on the way into an object.
 */
export function bodyJson(ctx: AppContext | RouteContext): unknown {
  const text = bodyText(ctx);
  // Replacement character of the decoder where the bytes are not UTF-8.
  if (text.includes('\uFFFD')) throw new InvalidRequestError('the body is not UTF-8');
  try {
    const value = parseStrictJson(text, ctx.state.jsonLimits);
    if (mayHoldForbiddenName(text)) refuseForbiddenNames(value);
    return value;
  } catch (error) {
    if (error instanceof JsonLimitError) throw new TooLargeError(`the body is too large: ${error.message}`);
    if (error instanceof JsonSyntaxError) throw new InvalidRequestError(`the body is not JSON: ${error.message}`);
    throw error;
  }
}

/** Every character can be written as such an escape. A walk through a large value costs more than a look at its text. */
function mayHoldForbiddenName(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u');
}

function refuseForbiddenNames(body: unknown): void {
  // Iterative: a body may be nested as deep as it is long.
  const open: unknown[] = [body];
  for (const value of open) {
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) throw new InvalidRequestError('`__proto__` is not allowed as a name');
    for (const part of Array.isArray(value) ? value : Object.values(value)) {
      if (typeof part === 'object') open.push(part);
    }
  }
}

function checkType(ctx: AppContext, type: string): void {
  const { 'content-type': given = '', 'content-encoding': encoding = 'identity' } = ctx.req.headers;
  if (given !== type && !isTypeInUtf8(given, type)) {
    throw new TransportError(415, `content type must be \`${type}\``, { Accept: type });
  }
  // RFC 9110 §15.5.16 and §12.5.3: what would be accepted.
  if (encoding.toLowerCase() !== 'identity') {
    throw new TransportError(415, 'a compressed body is not accepted', { 'Accept-Encoding': 'identity' });
  }
}

/** Parameters allowed after a type: `charset=utf-8`, and the blanks of HTTP (RFC 9110 §5.6.3). */
const inUtf8 = /^[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8"))?[ \t]*)?$/;

function isTypeInUtf8(given: string, type: string): boolean {
  const folded = given.toLowerCase();
  return folded.startsWith(type) && inUtf8.test(folded.slice(type.length));
}

function readingError(error: Error): Error {
  const type = 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') return new TooLargeError('the body is too large');
  if (type === 'request.size.invalid' || type === 'request.aborted') {
    return new InvalidRequestError(wrongLength);
  }
  return error;
}
