import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyText, readForm, readJson } from '@signet/server/http/body';
import type { RequestState } from '@signet/server/http/context';
import { errorAnswer } from '@signet/server/http/error-response';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';

/** Result for a body: its text, or the answer to its fault. */
type Outcome = string | { readonly status: number; readonly message: string };

interface Form {
  readonly parts: readonly Uint8Array[];
  /** Announced length; absent if none. */
  readonly announced?: number;
  readonly limit?: number;
  /** The connection ends after the parts. */
  readonly cut?: boolean;
  /** The connection has ended when the reader begins. */
  readonly gone?: boolean;
  readonly reader?: keyof typeof readers;
}

const readers = {
  form: { type: 'application/x-www-form-urlencoded', read: readForm },
  json: { type: 'application/json', read: readJson },
};

/** Sends a body, part by part, to a server that reads it as a form. */
async function read(
  t: ExecutionContext,
  { parts, announced, limit = 32_768, cut = false, gone = false, reader = 'form' }: Form,
): Promise<Outcome> {
  const app = new Koa<RequestState>();
  const outcome = Promise.withResolvers<Outcome>();
  app.use(async (ctx, next) => {
    await next().catch((error: unknown) => {
      const { status, message } = errorAnswer(error);
      outcome.resolve({ status, message });
    });
    ctx.body = '';
  });
  app.use((ctx, next) => {
    if (gone) ctx.req.destroy();
    return next();
  });
  app.use(readers[reader].read(limit));
  app.use((ctx) => outcome.resolve(bodyText(ctx)));
  app.silent = true;
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
  sent.setHeader('Content-Type', readers[reader].type);
  if (announced !== undefined) sent.setHeader('Content-Length', announced);
  sent.on('error', () => undefined);
  sent.on('response', (response) => response.resume());
  for (const part of parts) await new Promise((resolve) => sent.write(part, resolve));
  if (cut) sent.destroy();
  else sent.end();
  return outcome.promise;
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const texts: Readonly<Record<string, readonly Uint8Array[]>> = {
  'one part': [utf8('grant_type=client_credentials')],
  'two parts': [utf8('grant_type='), utf8('client_credentials')],
  'a character in two parts': [Uint8Array.of(0x61, 0xc3), Uint8Array.of(0xa4)],
  'a byte order mark': [utf8('\uFEFFa=b')],
  'a byte order mark inside': [utf8('a=\uFEFFb')],
  nothing: [],
  'as much as is read directly': [utf8('a'.repeat(16_384))],
  'one byte more': [utf8('a'.repeat(16_385))],
};

for (const reader of ['form', 'json'] as const) {
  for (const [note, parts] of Object.entries(texts)) {
    test(`a ${reader} is the same text with an announced length and without: ${note}`, async (t) => {
      const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
      const whole = Buffer.concat(parts).toString();
      const expected = whole.startsWith('\uFEFF') ? whole.slice(1) : whole;
      t.is(await read(t, { parts, announced: length, reader }), expected);
      t.is(await read(t, { parts, reader }), expected);
    });
  }
}

test('what is not UTF-8 is never taken for text', async (t) => {
  const parts = [Uint8Array.of(0x61, 0x3d, 0xff)];
  for (const announced of [3, undefined]) {
    t.is(await read(t, { parts, ...(announced !== undefined && { announced }) }), 'a=\uFFFD');
  }
});

test('a form that is too large is refused, however little it may be', async (t) => {
  const parts = [utf8('a'.repeat(11))];
  const refused = { status: 413, message: 'the body is too large' };
  t.deepEqual(await read(t, { parts, announced: 11, limit: 10 }), refused);
  t.deepEqual(await read(t, { parts, limit: 10 }), refused);
  t.is(await read(t, { parts, announced: 11, limit: 11 }), 'a'.repeat(11));
});

test('a form that ends before its announced length is refused', async (t) => {
  const refused = { status: 400, message: 'the body is not as long as announced' };
  t.deepEqual(await read(t, { parts: [utf8('a=b')], announced: 4, cut: true }), refused);
  t.deepEqual(await read(t, { parts: [utf8('a=b')], announced: 20_000, cut: true }), refused);
});

test('a body whose client is gone before it is read is refused, not waited for', async (t) => {
  const parts = [utf8('a'.repeat(10))];
  const refused = { status: 400, message: 'the body is not as long as announced' };
  for (const reader of ['form', 'json'] as const) {
    t.deepEqual(await read(t, { parts, gone: true, reader }), refused);
    t.deepEqual(await read(t, { parts, announced: 10, gone: true, reader }), refused);
  }
});
