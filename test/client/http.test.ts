import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createClient } from '@signet/client';
import test, { type ExecutionContext } from 'ava';
import { until } from '#support/until';
import { makePki } from './support/pki.ts';
import { answer, type Respond, startTlsServer } from './support/tls-server.ts';
import { type ClientWorld, clientWorld, failure } from './support/world.ts';

const granted: Respond = (_, response) => answer(response, 200, { granted: true });
const ask = { action: 'read', resource: 'catalog:movie' };

/** A port of this machine where `onConnection` decides what happens. */
async function rawServer(t: ExecutionContext, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const drip: Respond = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};

interface Misbehaviour {
  readonly note: string;
  readonly respond: Respond;
  /** Time-outs as short as the case needs them; else none gets in the way. */
  readonly timeoutMs?: number;
  readonly error: (world: ClientWorld) => Record<string, unknown>;
}

const misbehaviours: readonly Misbehaviour[] = [
  {
    note: 'a redirect',
    respond: (_, response) => void response.writeHead(302, { location: 'https://localhost/elsewhere' }).end(),
    error: () => ({ code: 'redirected', message: 'the server answered 302, redirects are not followed', status: 302 }),
  },
  {
    note: '304 that was not asked for',
    respond: (_, response) => void response.writeHead(304).end(),
    error: () => ({ code: 'redirected', message: 'the server answered 304, redirects are not followed', status: 304 }),
  },
  {
    note: 'an error with the body that every error has',
    respond: (_, response) => answer(response, 404, { code: 404, message: 'unknown domain' }),
    error: () => ({
      code: 'refused',
      message: 'the server answered 404: unknown domain',
      status: 404,
      serverCode: 404,
      serverMessage: 'unknown domain',
    }),
  },
  {
    note: 'an error without a readable body',
    respond: (_, response) => void response.writeHead(401).end('<html>'),
    error: () => ({ code: 'refused', message: 'the server answered 401', status: 401 }),
  },
  {
    note: 'an error text that would break a log line',
    respond: (_, response) => answer(response, 400, { code: 400, message: 'a\nb' }),
    error: () => ({
      code: 'refused',
      message: 'the server answered 400: a b',
      status: 400,
      serverCode: 400,
      serverMessage: 'a b',
    }),
  },
  {
    note: 'a failure with a time to come back',
    respond: (_, response) => answer(response, 503, { code: 503, message: 'busy' }, { 'retry-after': '7' }),
    error: () => ({
      code: 'server-error',
      message: 'the server answered 503: busy',
      status: 503,
      serverCode: 503,
      serverMessage: 'busy',
      retryAfterSeconds: 7,
    }),
  },
  {
    note: 'too many requests',
    respond: (_, response) => answer(response, 429, { code: 429, message: 'slow down' }, { 'retry-after': 'soon' }),
    error: () => ({
      code: 'server-error',
      message: 'the server answered 429: slow down',
      status: 429,
      serverCode: 429,
      serverMessage: 'slow down',
    }),
  },
  {
    note: 'an answer that says it is too large',
    respond: (_, response) => void response.writeHead(200, { 'content-length': '2000000' }).end('x'.repeat(2_000_000)),
    error: () => ({ code: 'response-too-large', message: 'the answer is larger than 1048576 bytes' }),
  },
  {
    note: 'an answer without end',
    respond: (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    },
    error: () => ({ code: 'response-too-large', message: 'the answer is larger than 1048576 bytes' }),
  },
  {
    note: 'a compressed answer',
    respond: (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('bomb'),
    error: () => ({ code: 'response-malformed', message: 'the response is compressed, which was not requested' }),
  },
  {
    note: 'no JSON',
    respond: (_, response) => void response.writeHead(200).end('{"granted":'),
    error: () => ({ code: 'response-malformed', message: 'the answer is malformed: it is not JSON' }),
  },
  {
    note: 'JSON of another kind',
    respond: (_, response) => answer(response, 200, { granted: 'yes' }),
    error: () => ({ code: 'response-malformed', message: 'the answer is malformed: `granted` is not true or false' }),
  },
  {
    note: 'silence',
    respond: () => undefined,
    timeoutMs: 1000,
    error: ({ server }) => ({
      code: 'timed-out',
      message: `no complete response from \`localhost:${server.port}\` in time`,
    }),
  },
  {
    note: 'one byte at a time',
    respond: drip,
    timeoutMs: 1000,
    error: ({ server }) => ({
      code: 'timed-out',
      message: `no complete response from \`localhost:${server.port}\` in time`,
    }),
  },
  {
    note: 'a connection that breaks in the middle of the answer',
    respond: (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{', () => response.destroy());
    },
    error: ({ server }) => ({
      code: 'unreachable',
      message: `\`localhost:${server.port}\` cannot be reached (UND_ERR_SOCKET)`,
    }),
  },
];

for (const { note, respond, timeoutMs = 30_000, error } of misbehaviours) {
  test(`one error for each kind of failure: ${note}`, async (t) => {
    const world = await clientWorld(t, respond, { connectTimeoutMs: 60_000, readTimeoutMs: timeoutMs });
    t.deepEqual(await failure(world.client.access.check(ask)), error(world));
  });
}

test('a server that is not there', async (t) => {
  const { client, server } = await clientWorld(t, granted);
  await server.close();
  const error = await failure(client.access.check(ask));
  t.deepEqual(error, {
    code: 'unreachable',
    message: `\`localhost:${server.port}\` cannot be reached (ECONNREFUSED): nothing listens on this port`,
  });
});

test('a name that does not exist', async (t) => {
  const { connect } = await clientWorld(t, granted);
  const client = connect({ baseUrl: 'https://nowhere.invalid/v1' });
  const { code, message } = await failure(client.access.check(ask));
  t.is(code, 'unreachable');
  t.regex(
    String(message),
    /^`nowhere\.invalid` cannot be reached \((ENOTFOUND|EAI_AGAIN)\): the host name cannot be resolved$/,
  );
});

test('a port that accepts and never shakes hands', async (t) => {
  const { connect } = await clientWorld(t, granted);
  const port = await rawServer(t, () => undefined);
  const client = connect({ baseUrl: `https://localhost:${port}/v1`, connectTimeoutMs: 200 });
  t.deepEqual(await failure(client.access.check(ask)), {
    code: 'unreachable',
    message: `\`localhost:${port}\` cannot be reached (UND_ERR_CONNECT_TIMEOUT)`,
  });
});

test('a port that speaks no TLS', async (t) => {
  const { connect } = await clientWorld(t, granted);
  const port = await rawServer(t, (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  const client = connect({ baseUrl: `https://localhost:${port}/v1` });
  t.is((await failure(client.access.check(ask)))['code'], 'tls');
});

test('a server certificate for another name', async (t) => {
  const { pki, connect } = await clientWorld(t, granted);
  const identity = await pki.issue('sys.auth.server', ['elsewhere.example']);
  const server = await startTlsServer(t, { identity, ca: pki.ca, respond: granted });
  t.deepEqual(await failure(connect({ baseUrl: server.baseUrl }).access.check(ask)), {
    code: 'tls',
    message: `no trusted connection to \`localhost:${server.port}\` (ERR_TLS_CERT_ALTNAME_INVALID): its certificate is for another host name`,
  });
  t.is(server.requests.length, 0);
});

test('a server certificate of another authority', async (t) => {
  const { folder, pki, connect } = await clientWorld(t, granted);
  const other = await makePki(folder, 'other');
  const identity = await other.issue('sys.auth.server', ['localhost']);
  const server = await startTlsServer(t, { identity, ca: pki.ca, respond: granted });
  t.is((await failure(connect({ baseUrl: server.baseUrl }).access.check(ask)))['code'], 'tls');
  t.is(server.requests.length, 0);
});

test('a client certificate of an authority that the server does not trust', async (t) => {
  const { folder, pki, server, connect } = await clientWorld(t, granted);
  const stranger = await (await makePki(folder, 'other')).issue('media.player');
  const client = connect({ certificate: stranger.cert, key: stranger.key, caBundle: pki.ca });
  // Node ends the connection after its half of the handshake: what arrives first, alert or end, is not ours to say
  t.true(['tls', 'unreachable'].includes(String((await failure(client.access.check(ask)))['code'])));
  t.is(server.requests.length, 0);
});

test('one kept-alive connection for requests in turn', async (t) => {
  const { server, connect } = await clientWorld(t, granted);
  const client = connect({ maxConnections: 1 });
  for (let i = 0; i < 5; i += 1) t.true(await client.access.check(ask));
  t.deepEqual(
    server.requests.map((request) => request.connection),
    [1, 1, 1, 1, 1],
  );
});

test('a kept-alive connection that the server closed costs no request', async (t) => {
  const { client, server } = await clientWorld(t, granted);
  t.true(await client.access.check(ask));
  server.drop();
  t.true(await client.access.check(ask));
});

test('a connection that breaks under a request is replaced once', async (t) => {
  let breaks = 1;
  const { client, server } = await clientWorld(t, (request, response) => {
    if (breaks > 0) {
      breaks -= 1;
      response.destroy();
    } else void granted(request, response);
  });
  t.true(await client.access.check(ask));
  t.is(server.requests.length, 2);
  breaks = 5;
  t.is((await failure(client.access.check(ask)))['code'], 'unreachable');
  t.is(server.requests.length, 4);
});

test('the caller can abort, before and during the request', async (t) => {
  const { client, server } = await clientWorld(t, () => undefined);
  const expected = { code: 'aborted', message: 'the request was aborted by the caller' };
  t.deepEqual(await failure(client.access.check({ ...ask, signal: AbortSignal.abort() })), expected);
  t.is(server.requests.length, 0);
  const abort = new AbortController();
  const call = failure(client.access.check({ ...ask, signal: abort.signal }));
  await until('the server is asked', () => server.requests.length === 1);
  abort.abort();
  t.deepEqual(await call, expected);
});

test('close ends what is under way, and nothing more is sent', async (t) => {
  const { client, server } = await clientWorld(t, () => undefined);
  const call = failure(client.access.check(ask));
  await until('the server is asked', () => server.requests.length === 1);
  await client.close();
  await client.close();
  t.is((await call)['code'], 'closed');
  t.deepEqual(await failure(client.access.check(ask)), { code: 'closed', message: 'the client is closed' });
});

const badOptions: readonly { note: string; options: Record<string, unknown>; message: string }[] = [
  { note: 'plain http', options: { baseUrl: 'http://localhost/v1' }, message: 'baseUrl is not an https URL' },
  { note: 'no URL', options: { baseUrl: 'localhost' }, message: 'baseUrl is not an https URL' },
  {
    note: 'a query',
    options: { baseUrl: 'https://localhost/v1?x=1' },
    message: 'baseUrl holds more than host, port and path',
  },
  {
    note: 'a time-out of nothing',
    options: { readTimeoutMs: 0 },
    message: 'readTimeoutMs must be an integer from 1 to 86400000',
  },
  { note: 'a proxy of another kind', options: { proxy: 'socks://x' }, message: 'proxy is not an http or https URL' },
];

for (const { note, options, message } of badOptions) {
  test(`refuses to be made with ${note}`, async (t) => {
    const { player, pki } = await clientWorld(t, granted);
    const error = t.throws(() =>
      createClient({
        baseUrl: 'https://localhost/v1',
        certificate: player.cert,
        key: player.key,
        caBundle: pki.ca,
        ...options,
      }),
    );
    t.like(error, { name: 'SignetClientError', code: 'invalid-argument', message });
  });
}
