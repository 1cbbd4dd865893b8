import { request } from 'node:https';
import { connect } from 'node:net';
import test from 'ava';
import { startBalancer } from '#support/balancer';
import { proxyHeader } from '#support/proxy-header';
import { caller, startServer, type TestServer, wholeFile } from '#support/start-server';
import { until } from '#support/until';

const file = wholeFile();
const group = { workMsPerSecond: 10, burstMs: 100, inFlight: 8, share: 0.5 };
const time = { now: 1_000_000 };
const listed = { 'listen.proxyProtocolFrom': ['127.0.0.0/8'] };
const keys = '/oauth2/keys';

function start(options: Readonly<Record<string, unknown>>): Promise<TestServer> {
  const domains = [{ name: 'media', services: { player: {} } }];
  return startServer(file, { domains, options, monotonic: () => time.now });
}

const behind = await start(listed);
test.after.always('end', () => file.end());

/** A client of a server through a balancer. */
async function through(server: TestServer, options: Parameters<typeof startBalancer>[2], name?: string) {
  const baseUrl = await startBalancer(file, server.baseUrl, options);
  const call = caller(file, { baseUrl, pki: server.pki }, name === undefined ? {} : await server.pki.identity(name));
  return Object.assign(call, { baseUrl });
}

for (const sends of [undefined, 'together', 'bytes'] as const) {
  test(`the address of a client is what a listed balancer says, the header sent ${sends ?? 'alone'}`, async (t) => {
    const client = `192.0.2.${sends === undefined ? 1 : sends.length}`;
    const header = () => proxyHeader(client, { extensions: Buffer.alloc(300) });
    const call = await through(behind, { header, ...(sends !== undefined && { sends }) }, 'media.player');
    t.is((await call(keys)).status, 200);
    t.is((await call(keys)).status, 200, 'the connection is kept');
    const stranger = await through(behind, { header, ...(sends !== undefined && { sends }) });
    t.is((await stranger(keys)).status, 401);
    t.like(
      behind.log.findLast(({ address }) => address === client),
      { msg: 'request', status: 401 },
    );
  });
}

test('a balancer that speaks for itself is the client', async (t) => {
  const own = await start(listed);
  const call = await through(own, { header: () => proxyHeader('192.0.2.1', { command: 0x20 }) });
  t.is((await call(keys)).status, 401);
  t.like(
    own.log.findLast(({ msg }) => msg === 'request'),
    { address: '127.0.0.1' },
  );
});

test('a listed balancer that sends no header, or a malformed one, is closed without an answer', async (t) => {
  const direct = caller(file, behind, await behind.pki.identity('media.player'));
  await t.throwsAsync(direct(keys));
  for (const header of [
    Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n'),
    proxyHeader('192.0.2.7', { length: 5000 }),
    proxyHeader('192.0.2.7', { family: 0x12 }),
  ]) {
    const call = await through(behind, { header: () => header }, 'media.player');
    await t.throwsAsync(call(keys));
  }
});

test('a header of somebody who is not listed is not TLS', async (t) => {
  const own = await start({ 'listen.proxyProtocolFrom': ['10.0.0.0/8'] });
  const call = await through(own, { header: () => proxyHeader('10.0.0.1') }, 'media.player');
  await t.throwsAsync(call(keys));
  const direct = caller(file, own, await own.pki.identity('media.player'));
  t.is((await direct(keys)).status, 200);
});

test('a header that does not come to its end is waited for until the time-out, and its connection is closed', async (t) => {
  const own = await start({ ...listed, 'timeouts.requestMs': 1000 });
  const socket = connect(Number(new URL(own.baseUrl).port), '127.0.0.1');
  socket.write(proxyHeader('192.0.2.7').subarray(0, 20));
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  t.pass();
});

test('what a balancer did wrong is said when the server stops', async (t) => {
  const endings: (() => void | Promise<void>)[] = [];
  const own = await startServer({ teardown: (end) => void endings.unshift(end) }, { options: listed });
  const call = await through(own, { header: () => Buffer.from('GET / HTTP/1.1\r\n\r\n') });
  await t.throwsAsync(call(keys));
  for (const end of endings) await end();
  t.like(
    own.log.find(({ msg }) => String(msg).startsWith('connections of listed balancers')),
    { refused: 1, most: { '127.0.0.1: no signature': 1 } },
  );
});

test('one stranger behind a balancer that says who its clients are keeps out nobody but itself', async (t) => {
  const own = await start({ ...listed, 'budgets.strangers': group });
  const at = (client: string) => through(own, { header: () => proxyHeader(client) });
  const flooding = await at('192.0.2.1');
  const cut = async () => (await flooding(keys)).headers['connection'] === 'close';
  while (!(await cut()));
  // What is kept for those that wait has room for one here: its next connection waits for ever.
  t.true(await cut());
  const waiting = flooding(keys).catch(() => 'waited');
  t.is((await (await at('192.0.2.2'))(keys)).status, 401);
  const site = await at('2001:db8:0:1:0:0:0:1');
  t.is((await site(keys)).status, 401);
  flooding.agent.destroy();
  t.is(await waiting, 'waited');
});

test('a balancer that does not say it is listed as shared: it has a budget of its own, as large as that of all strangers', async (t) => {
  const count = async (options: Readonly<Record<string, unknown>>) => {
    const own = await start({ 'budgets.strangers': { ...group, share: 0.25 }, ...options });
    const flooding = caller(file, own);
    let answers = 1;
    while ((await flooding(keys)).headers['connection'] !== 'close') answers += 1;
    return answers;
  };
  const plain = await count({});
  const shared = await count({ 'budgets.sharedAddresses': ['127.0.0.1'] });
  t.true(shared > 3 * plain && shared < 6 * plain, `${shared} ${plain}`);
});

test('a server that stops does not wait for a header that has not come', async (t) => {
  const endings: (() => void | Promise<void>)[] = [];
  const own = await startServer(
    { teardown: (end) => void endings.unshift(end) },
    { options: { ...listed, 'timeouts.drainMs': 60_000 } },
  );
  const closed = ['', proxyHeader('192.0.2.7').subarray(0, 20)].map(async (bytes) => {
    const socket = connect(Number(new URL(own.baseUrl).port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await new Promise<unknown>((resolve) => socket.once('connect', resolve));
    if (bytes.length > 0) socket.write(bytes);
    return { ended };
  });
  const sockets = await Promise.all(closed);
  const start = performance.now();
  for (const end of endings) await end();
  await Promise.all(sockets.map(({ ended }) => ended));
  // The header may take 20 s, and draining 60 s.
  t.true(performance.now() - start < 18_000);
});

test('what strangers hold is counted by their own addresses, and not by that of their balancer', async (t) => {
  const own = await start({ ...listed, 'limits.principalBytes': 65_536, 'budgets.enabled': false });
  const from = (address: string) => through(own, { header: () => proxyHeader(address) });
  const [first, neighbour, second] = [await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')];
  const { hostname: host, port } = new URL(first.baseUrl);
  const pending = request({
    agent: first.agent,
    host,
    port,
    method: 'POST',
    path: '/v1/instance',
    headers: { 'content-type': 'application/json', 'content-length': 1_048_576 },
  });
  pending.on('error', () => undefined);
  pending.write('{');
  t.teardown(() => void pending.destroy());
  await until('its address is told to wait', async () => (await neighbour('/login')).status === 429);
  t.is((await second('/login')).status, 200);
  t.is((await neighbour('/readyz')).status, 200, 'probes hold nothing');
  const withBody = await neighbour('/readyz', { method: 'GET', body: 'x' });
  t.is(withBody.status, 429, 'but for those with a body');
});
