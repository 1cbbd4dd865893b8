import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import test from 'ava';
import { type Caller, caller, form, startServer, wholeFile } from '#support/start-server';
import { until } from '#support/until';

const file = wholeFile();
const domains = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];
const server = await startServer(file, { domains });
/** For what takes as long as the server lets it. */
const impatient = await startServer(file, { domains, pki: server.pki, options: { 'timeouts.requestMs': 2000 } });
const player = await server.pki.identity('media.player');
const asPlayer: Caller = caller(file, server, player);
test.after.always(() => file.end());

function open(to = server): TLSSocket {
  const { certificate: cert, key } = player;
  const { hostname: host, port } = new URL(to.baseUrl);
  return connect({ host, port: Number(port), cert, key, ca: server.pki.bundle });
}

/** Sends bytes on a connection of their own; what came back until the server closed it. */
async function send(bytes: string, to = server): Promise<string> {
  const socket = open(to);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  if (bytes !== '') socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return text;
}

/** Sends bytes to their end before it looks at what came back, as simple clients do. */
async function sendWhole(bytes: string): Promise<string> {
  const socket = open();
  socket.on('error', () => undefined);
  for (let at = 0; at < bytes.length; at += 65_536) {
    await new Promise<void>((resolve, reject) => {
      socket.write(bytes.slice(at, at + 65_536), 'latin1', (error) => (error ? reject(error) : resolve()));
    });
  }
  socket.setEncoding('latin1');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** Status and body of the first answer in a text. */
function first(text: string): { status: number; body: unknown; closes: boolean } {
  const [head = '', rest = ''] = text.split('\r\n\r\n', 2);
  const end = rest.indexOf('HTTP/1.1 ');
  return {
    status: Number(head.split(' ')[1]),
    body: rest === '' ? undefined : JSON.parse(end < 0 ? rest : rest.slice(0, end)),
    closes: /^connection: close$/im.test(head),
  };
}

const healthz = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
const token =
  'POST /v1/oauth2/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n';
const notHttp = { code: 400, message: 'the request is not HTTP' };

const raw: readonly (readonly [name: string, request: string, status: number, message: string])[] = [
  ['two lengths', `${token}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`, 400, notHttp.message],
  [
    'a length and chunks',
    `${token}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    notHttp.message,
  ],
  ['an unknown transfer coding', `${token}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400, notHttp.message],
  ['a blank before the colon', `${healthz}X : y\r\n\r\n`, 400, notHttp.message],
  ['a folded header', `${healthz}X: y\r\n z\r\n\r\n`, 400, notHttp.message],
  ['bare line feeds', 'GET /healthz HTTP/1.1\nHost: localhost\n\n', 400, notHttp.message],
  ['a negative length', `${token}Content-Length: -1\r\n\r\n`, 400, notHttp.message],
  ['a chunk size that is none', `${token}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc`, 400, notHttp.message],
  ['no HTTP at all', 'hello\r\n\r\n', 400, notHttp.message],
  ['a bare NUL in a header', `${healthz}X: a\0b\r\n\r\n`, 400, notHttp.message],
  ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'the Host header is missing, repeated or malformed'],
  [
    'two Hosts',
    'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    400,
    'the Host header is missing, repeated or malformed',
  ],
  [
    'a Host that is none',
    'GET /healthz HTTP/1.1\r\nHost: a b/c@\r\n\r\n',
    400,
    'the Host header is missing, repeated or malformed',
  ],
  [
    'a second transfer encoding',
    'GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    400,
    'transfer encoding must be `chunked`',
  ],
  ['17 kB of headers', `${healthz}X: ${'y'.repeat(17_000)}\r\n\r\n`, 431, 'the headers are too large'],
  ['too many headers', `${healthz}${'X: y\r\n'.repeat(101)}\r\n`, 431, 'too many headers'],
  ['a long URL', `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414, 'the URL is too long'],
  [
    'an expectation that cannot be met',
    `${token}Expect: the-best\r\nContent-Length: 1\r\n\r\na`,
    417,
    'the expectation cannot be met',
  ],
  [
    'a method that the parser does not know',
    'BREW /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    501,
    'the method is not known',
  ],
  ['bytes that are no request', '\u0016\u0003\u0001 / HTTP/1.1\r\n\r\n', 400, 'the request is not HTTP'],
  ['CONNECT', 'CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n', 405, 'the method is not allowed at this path'],
];

test('URL and header fields may have 16 KiB together, and not one byte more', async (t) => {
  const others = ['/healthz', 'Host', 'localhost', 'Connection', 'close', 'X'].join('').length;
  const sent = (bytes: number) => send(`${healthz}Connection: close\r\nX: ${'y'.repeat(bytes - others)}\r\n\r\n`);
  t.is(first(await sent(16_384)).status, 200);
  t.is(first(await sent(16_385)).status, 431);
});

for (const [name, request, status, message] of raw) {
  test(`${status} and close: ${name}`, async (t) => {
    t.deepEqual(first(await send(request)), { status, body: { code: status, message }, closes: true });
  });
}

test('every refusal has a date, also those that are answered before there is a request', async (t) => {
  for (const [, request] of raw) t.regex(await send(request), /\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r\n/);
});

test('501 for a method that is none of HTTP, on every path', async (t) => {
  for (const path of ['/v1/oauth2/token', '/nowhere']) {
    for (const method of ['PROPFIND', 'LOCK', 'M-SEARCH']) {
      const answer = first(await send(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`));
      t.like(answer, { status: 501, body: { code: 501, message: 'the method is not known' } }, `${method} ${path}`);
    }
  }
});

test('a method that nobody knows is nothing that an operator has to look at', async (t) => {
  await send('MKCALENDAR /v1/oauth2/token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const line = await until('the request is logged', () =>
    server.log.find(({ method, status }) => method === 'MKCALENDAR' && status === 501),
  );
  t.is(line['level'], 'info');
});

test('a request smuggled behind a refused one is not answered', async (t) => {
  const text = await send(`${token}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${healthz}\r\n`);
  t.is(text.match(/HTTP\/1\.1 /g)?.length, 1);
});

test('a body that is shorter than announced ends with the connection', async (t) => {
  const socket = open(impatient);
  socket.on('error', () => undefined);
  socket.write(`${token}Content-Length: 500\r\n\r\ngrant_type=client_credentials`);
  socket.resume();
  await once(socket, 'close');
  t.is((await asPlayer('^/healthz')).status, 200);
});

for (const [name, bytes] of [
  ['without a request', ''],
  ['with headers that never end', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'],
  ['with a body that never ends', `${token}Content-Length: 500\r\n\r\ngrant_type=`],
] as const) {
  test(`a connection ${name} is closed in time`, async (t) => {
    const text = await send(bytes, impatient);
    t.deepEqual(text === '' ? [408, false] : [first(text).status, text.includes('granted')], [408, false]);
  });
}

test('the server is alive after all of that, also with 200 idle connections', async (t) => {
  const idle = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = open();
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect');
      return socket;
    }),
  );
  const answer = await asPlayer('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }));
  t.is(answer.status, 200);
  for (const socket of idle) socket.destroy();
});

const hostile: readonly (readonly [path: string, status: number])[] = [
  ['^/v1/oauth2/keys/', 404],
  ['^/V1/oauth2/keys', 404],
  ['^//v1/oauth2/keys', 404],
  ['^/v1//oauth2/keys', 404],
  ['^/v1/./oauth2/keys', 404],
  ['^/v1/access/../oauth2/keys', 404],
  ['^/v1/oauth2%2fkeys', 404],
  ['^/v1/oauth2/keys;x=1', 404],
  ['^/v1/oauth2/keys%00', 404],
  ['^/v1/domain/%2e%2e/policy/signed', 400],
  ['^/v1/domain/%zz/policy/signed', 400],
  [`^/v1/domain/${'a'.repeat(7000)}/policy/signed`, 400],
  ['^/v1/domain/__proto__/policy/signed', 404],
  ['^/v1/domain/constructor/policy/signed', 404],
  ['^/v1/access/domain/hasOwnProperty/principal/a.b', 404],
  ['^/v1/oauth2/keys?rfc=TRUE', 400],
  ['^/v1/oauth2/keys?rfc=2', 400],
  ['^/v1/oauth2/keys?rfc=true&rfc=true', 400],
  ['^/v1/oauth2/keys?__proto__=x', 200],
];

for (const [path, status] of hostile) {
  test(`${status}: ${path.slice(1, 60)}`, async (t) => {
    const answer = await asPlayer(path);
    t.is(answer.status, status);
    if (status !== 200) t.like(answer.body, { code: status });
  });
}

test('headers that claim another client, scheme or method mean nothing', async (t) => {
  const headers = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': `${'http,'.repeat(500)}`,
    'x-http-method-override': 'DELETE',
    __proto__x: 'x',
  };
  const answer = await asPlayer('/.well-known/openid-configuration', { headers });
  t.is(answer.status, 200);
  t.false(answer.text.includes('evil'));
});

test('a line of the log is one JSON line whatever was sent', async (t) => {
  await asPlayer(`^/v1/access/${encodeURIComponent('a"\u001b[31m\r\n{"level":"info"}')}?resource=catalog:x`);
  await send(
    'GET /v1/nothing\x1b[31m"{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: \x1b[31m"\r\n\r\n',
  );
  // Every line was parsed as JSON by the test server.
  t.true(server.log.every((line) => typeof line['level'] === 'string'));
});

const tooLong: readonly (readonly [name: string, request: string])[] = [
  ['with its length', `${token}Content-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`],
  ['in chunks', `${token}Transfer-Encoding: chunked\r\n\r\n1e8480\r\n${'x'.repeat(2_000_000)}\r\n0\r\n\r\n`],
];

for (const [name, request] of tooLong) {
  test(`a client that sends a body that is too large to its end gets the answer: ${name}`, async (t) => {
    const answer = first(await sendWhole(request));
    t.deepEqual([answer.status, answer.closes], [413, true]);
    t.like(answer.body, { code: 413, message: 'the body is too large' });
  });
}

const offers: readonly (readonly [offered: readonly string[] | undefined, chosen: string | false | undefined])[] = [
  [undefined, false],
  [['http/1.1'], 'http/1.1'],
  [['http/1.0'], 'http/1.0'],
  [['http/1.0', 'http/1.1'], 'http/1.1'],
  [['h2', 'http/1.1'], 'http/1.1'],
  [['h2', 'http/1.0'], 'http/1.0'],
  [['h2'], undefined],
];

for (const [offered, chosen] of offers) {
  test(`a client that offers ${offered?.join() ?? 'no protocol'} is answered in ${chosen}`, async (t) => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(server.baseUrl).port),
      ca: server.pki.bundle,
      ...(offered !== undefined && { ALPNProtocols: [...offered] }),
    });
    if (chosen === undefined) {
      const refused = await t.throwsAsync(once(socket, 'secureConnect'));
      return t.is(Object(refused).code, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL');
    }
    await once(socket, 'secureConnect');
    t.is(socket.alpnProtocol, chosen as never);
    const version = chosen === 'http/1.0' ? '1.0' : '1.1';
    socket.write(`GET /healthz HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    t.regex((await socket.toArray()).join(''), /^HTTP\/1\.1 200 /);
  });
}
