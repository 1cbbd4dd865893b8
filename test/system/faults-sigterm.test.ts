import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { until } from '#support/until';

/* The order to stop, while clients ask as fast as they can: each request is answered, or its connection was refused before. */

const domains = [
  { name: 'sys.auth', services: { operator: {} }, roles: { admin: ['sys.auth.operator'] } },
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];

const clients = 32;

interface Counts {
  answered: number;
  /** Requests that left and got no answer, or not all of it. */
  readonly lost: string[];
  refused: number;
}

/** Client that sends again as soon as it is answered, until the port is closed. Every fourth one has a new connection each time. */
async function ask(world: World, index: number, counts: Counts): Promise<void> {
  const { pki, identity } = world;
  const agent = new Agent({
    keepAlive: index % 4 !== 0,
    maxSockets: 1,
    servername: 'localhost',
    ca: pki.bundle,
    cert: identity.certificate,
    key: identity.key,
  });
  while ((await exchange(world.baseUrl, agent, counts)) === 'answered');
  agent.destroy();
}

function exchange(baseUrl: string, agent: Agent, counts: Counts): Promise<'answered' | 'ended'> {
  const { promise, resolve } = Promise.withResolvers<'answered' | 'ended'>();
  let sent = false;
  const body = 'grant_type=client_credentials&scope=catalog:domain';
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length };
  const asked = request(`${baseUrl}/oauth2/token`, { agent, method: 'POST', headers });
  asked.once('socket', (socket) => {
    if (asked.reusedSocket) sent = true;
    else socket.once('secureConnect', () => (sent = true));
  });
  const fail = (why: string) => {
    if (sent) counts.lost.push(`${why} (${asked.reusedSocket ? 'kept' : 'new'} connection)`);
    else counts.refused += 1;
    resolve('ended');
  };
  asked.on('error', (error) => fail(String(error)));
  asked.on('response', async (response) => {
    try {
      let text = '';
      for await (const chunk of response) text += chunk;
      if (response.statusCode !== 200) return fail(`${response.statusCode} ${text}`);
      JSON.parse(text);
      counts.answered += 1;
      resolve('answered');
    } catch (error) {
      fail(`truncated: ${String(error)}`);
    }
  });
  asked.end(body);
  return promise;
}

interface World {
  readonly baseUrl: string;
  readonly pki: Installation['pki'];
  readonly identity: { readonly certificate: string; readonly key: string };
}

async function round(t: ExecutionContext, installation: Installation, args: readonly string[], counts: Counts) {
  const serving = await serve(t, installation, { args });
  const { pki } = installation;
  const world = { baseUrl: serving.baseUrl, pki, identity: await pki.identity('media.player') };
  const before = counts.answered;
  const asking = Array.from({ length: clients }, (_, index) => ask(world, index, counts));
  await until('the load runs', () => counts.answered - before >= 2000, 60_000);
  const start = performance.now();
  const status = await serving.end('SIGTERM');
  await Promise.all(asking);
  t.is(status, 0, serving.errors());
  return performance.now() - start;
}

test('32 busy connections: no request is lost in 10,000', async (t) => {
  t.timeout(180_000);
  const installation = await install(t, { domains, more: 'log: { requests: false }' });
  const counts: Counts = { answered: 0, refused: 0, lost: [] };
  const times: number[] = [];
  for (const workers of ['1', '1', '1', '2', '1'])
    times.push(await round(t, installation, ['--workers', workers], counts));
  t.log(`${counts.answered} answered, ${counts.refused} connections refused`);
  t.true(counts.answered >= 10_000);
  t.deepEqual(counts.lost, []);
  assertWithin(t, 'requests lost', counts.lost.length, 0);
  assertWithin(t, 'longest time to stop', Math.max(...times) / 1000, 10, 's');
});

/** Acceptance of a new connection, and the answer of `/readyz` on it. */
async function readiness(t: ExecutionContext, serving: Serving) {
  try {
    const { status, headers, body } = await serving.as()('^/readyz');
    return { status, connection: headers['connection'], said: Object(body).status };
  } catch (error) {
    t.regex(String(error), /ECONNREFUSED|ECONNRESET|hang up|disconnected/);
    return undefined;
  }
}

test('the port stays open for the delay while /readyz says 503; a stuck connection is cut at the deadline', async (t) => {
  const more = 'shutdown: { delaySeconds: 2 }\ntimeouts: { drainMs: 1000 }';
  const installation = await install(t, { domains, more });
  const serving = await serve(t, installation);
  const kept = serving.as(await installation.pki.identity('media.player'));
  t.is((await kept('^/readyz')).status, 200);
  const { port } = new URL(serving.baseUrl);
  const stuck = connect({
    host: '127.0.0.1',
    port: Number(port),
    ca: installation.pki.bundle,
    servername: 'localhost',
  });
  stuck.on('error', () => undefined);
  await once(stuck, 'secureConnect');
  stuck.write('GET /healthz HTTP/1.1\r\n');
  const start = performance.now();
  const ended = serving.end('SIGTERM');
  const stopping = { status: 503, connection: 'close', said: 'stopping' };
  await until('a new connection hears of the end', async () => (await readiness(t, serving))?.status === 503);
  t.deepEqual(await readiness(t, serving), stopping);
  const { status, headers } = await kept('/oauth2/keys');
  t.deepEqual([status, headers['connection']], [200, 'close']);
  await until('the port is closed', async () => (await readiness(t, serving)) === undefined);
  const open = performance.now() - start;
  t.is(await ended, 0);
  t.log(`the port was closed after ${Math.round(open)} ms (delay 2000)`);
  t.true(open >= 1900);
  assertWithin(
    t,
    'end after the port was closed, with a stuck connection',
    performance.now() - start - open,
    10_000,
    'ms',
  );
});

test('a second order ends the process at once', async (t) => {
  const installation = await install(t, { domains, more: 'shutdown: { delaySeconds: 300 }' });
  for (const workers of ['1', '2']) {
    const serving = await serve(t, installation, { args: ['--workers', workers] });
    const ended = serving.end('SIGTERM');
    await until('it stops', async () => (await readiness(t, serving))?.status === 503);
    // Signals within half a second are one order.
    const again = setInterval(() => void serving.end('SIGINT'), 100);
    t.is(await ended, 'SIGINT');
    clearInterval(again);
    await until('its port is closed', async () => (await readiness(t, serving)) === undefined);
  }
});
