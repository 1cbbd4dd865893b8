import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { systemClock } from '@signet/policy-engine/clock';
import test, { type ExecutionContext } from 'ava';
import { principalToken } from '#support/principal-token';
import { type CallerOptions, caller, startServer, type TestServer, wholeFile } from '#support/start-server';
import { until } from '#support/until';

const file = wholeFile();
const rules = (count: number) =>
  Array.from({ length: count }, (_, index) => ['ALLOW', 'reader', 'read', `r${index}.${'x'.repeat(600)}é𝄞`] as const);
const server = await startServer(file, {
  domains: [
    { name: 'catalog', roles: { reader: ['media.player'] }, policies: { large: rules(2000) } },
    { name: 'archive', roles: { reader: ['media.player'] }, policies: { large: rules(16_000) } },
    { name: 'media', services: { player: {}, other: {} } },
  ],
  options: { 'limits.connectionRequests': 20, 'limits.connectionBytes': 200_000, 'limits.principalBytes': 300_000 },
});

const player = await server.pki.identity('media.player');
const other = await server.pki.identity('media.other');
test.after.always(() => file.end());
const bundle = 'GET /v1/domain/catalog/policy/signed HTTP/1.1\r\nHost: localhost\r\n\r\n';
const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

interface Raw {
  readonly socket: TLSSocket;
  text(): string;
}

async function open({ certificate: cert, key }: typeof player): Promise<Raw> {
  const { hostname: host, port } = new URL(server.baseUrl);
  const socket = connect({ host, port: Number(port), cert, key, ca: server.pki.bundle });
  file.teardown(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  let text = '';
  socket.setEncoding('latin1');
  return {
    socket,
    text() {
      for (let part = socket.read(); part !== null; part = socket.read()) text += part;
      return text;
    },
  };
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

test.serial('a large answer comes whole, in slices that split no character', async (t) => {
  const call = caller(file, server, player);
  const answer = await call('/domain/catalog/policy/signed');
  t.is(answer.status, 200);
  t.true(answer.text.length > 1_000_000);
  t.is(Number(answer.headers['content-length']), Buffer.byteLength(answer.text));
  t.is(answer.headers['content-type'], 'application/json');
  const { text } = await call(`^/v1/domain/catalog/policy/signed`);
  t.is(text, answer.text);
  t.is(
    (await call('/domain/catalog/policy/signed', { method: 'HEAD' })).headers['content-length'],
    String(text.length),
  );
});

test.serial('a connection has so many requests on their way and no more', async (t) => {
  const exact = await open(player);
  exact.socket.write(bundle + health.repeat(19));
  await until('twenty answers', () => statuses(exact.text()).length === 20);
  t.deepEqual([...new Set(statuses(exact.text()))], [200]);

  const more = await open(player);
  more.socket.write(bundle + health.repeat(20));
  await until('the connection is closed', () => {
    more.text();
    return more.socket.closed || more.socket.readableEnded;
  });
  t.deepEqual(statuses(more.text()), [...Array.from({ length: 20 }, () => 200), 429]);
  t.regex(more.text(), /the connection has too many requests without an answer/);
  t.regex(more.text(), /^Connection: close/im);
});

test.serial('what is no request, behind one whose answer is on its way, puts nothing into that answer', async (t) => {
  const { socket, text } = await open(player);
  socket.write(bundle);
  await until('the answer begins', () => socket.readableLength > 0);
  socket.write('XX\r\n\r\n');
  // Whether it was all sent before depends on the buffers of the system.
  await until('the connection is closed', () => {
    text();
    return socket.closed || socket.readableEnded;
  });
  const [, length] = /content-length: (\d+)/i.exec(text()) ?? [];
  const body = text().slice(text().indexOf('\r\n\r\n') + 4);
  t.false(body.slice(0, Number(length)).includes('HTTP/1.1 '));
});

test.serial('who does not read gets no more, and others do; reading and closing make room again', async (t) => {
  const call = caller(file, server, player);
  const held: Raw[] = [];
  // Each holds one slice of the bundle, which is kept for all.
  for (let index = 0; index < 8; index += 1) {
    const raw = await open(player);
    raw.socket.write(bundle);
    held.push(raw);
  }
  await until('the principal is told to read', async () => (await call('/oauth2/keys')).status === 429);
  const refused = await call('/oauth2/keys');
  t.like(refused, { status: 429, headers: { 'retry-after': '1' } });
  t.deepEqual(refused.body, { code: 429, message: 'too many answers have not been read yet: read them first' });
  t.is((await caller(file, server, other)('/oauth2/keys')).status, 200);
  for (const { socket } of held.slice(4)) socket.destroy();
  await until('closed connections make room', async () => (await call('/oauth2/keys')).status === 200);
  for (const raw of held.slice(0, 4)) await until('the answer is whole', () => raw.text().length > 1_000_000);
  t.is((await call('/oauth2/keys')).status, 200);
});

test.serial('a bundle of chosen versions is made for one caller, and counts whole', async (t) => {
  const call = caller(file, server, player);
  const body = JSON.stringify({ policyVersions: { large: '0' } });
  const raw = await open(player);
  raw.socket.write(
    `POST /v1/domain/archive/policy/signed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  // More than the buffers of a connection hold, or nobody would see that it has not been read.
  await until('the principal is told to read', async () => (await call('/oauth2/keys')).status === 429);
  const parts: string[] = [];
  raw.socket.on('data', (part: string) => parts.push(part));
  await until('the answer is whole', () => parts.reduce((sum, part) => sum + part.length, 0) > 10_000_000);
  await until('there is room again', async () => (await call('/oauth2/keys')).status === 200);
  t.deepEqual(statuses(parts.join('')), [200]);
});

/** Sends the head of a request, whose body never comes. */
async function hold(t: ExecutionContext, at: TestServer, who: CallerOptions, head: string): Promise<void> {
  const { hostname: host, port } = new URL(at.baseUrl);
  const { certificate: cert, key } = who;
  const socket = connect({ host, port: Number(port), ca: at.pki.bundle, ...(cert !== undefined && { cert, key }) });
  t.teardown(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.write(`${head}\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n`);
}

for (const profile of ['signet', 'athenz'] as const) {
  test(`${profile}: who carries a principal token of another holds nothing in its name`, async (t) => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
    const own = await startServer(t, {
      domains: [{ name: 'media', services: { player: { 0: pem }, other: {} } }],
      options: { profile, 'limits.principalBytes': 65_536, 'budgets.enabled': false },
    });
    const as = async (name: string) => caller(t, own, await own.pki.identity(name));
    const [owner, carrier] = [await as('media.player'), await as('media.other')];
    const token = principalToken({ now: systemClock.now(), key: pair.privateKey });
    const base = new URL(own.baseUrl).pathname;
    const asked = `POST ${base}/access-checks HTTP/1.1`;
    await hold(t, own, await own.pki.identity('media.other'), asked);
    await until('the carrier is told to wait', async () => (await carrier('/sshcert/krl')).status === 429);
    t.is((await owner('/sshcert/krl')).status, 200);
    const carried = { 'svc-principal-auth': token };
    t.is((await carrier('/access/read?resource=media:film', { headers: carried })).status, 429, 'in its own name');
    t.is((await owner('/access/read?resource=media:film', { headers: carried })).status, 200);
  });
}

test('athenz: who has a copy of a principal token and no certificate holds nothing in its name', async (t) => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
  const own = await startServer(t, {
    domains: [{ name: 'media', services: { player: { 0: pem } } }],
    options: { profile: 'athenz', 'limits.principalBytes': 65_536, 'budgets.enabled': false },
  });
  const token = principalToken({ now: systemClock.now(), key: pair.privateKey });
  const head = `POST /zts/v1/domain/media/policy/signed HTTP/1.1\r\nAthenz-Principal-Auth: ${token}`;
  await hold(t, own, {}, head);
  const owner = caller(t, own, await own.pki.identity('media.player'));
  const copy = caller(t, own);
  const carried = { headers: { 'athenz-principal-auth': token } };
  await until('the copy is told to wait', async () => (await copy('/sshcert/krl', carried)).status === 429);
  t.is((await owner('/sshcert/krl')).status, 200);
});
