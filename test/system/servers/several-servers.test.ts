import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createClient } from '@signet/client';
import test, { type ExecutionContext } from 'ava';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { field, instanceNames, json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { noPostgres, type PostgresServer, postgresPrograms, startPostgres } from '#support/postgres';
import { ecPair, requestPem } from '#support/requests';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { type Answer, type Caller, form } from '#support/start-server';
import { until } from '#support/until';

/* Several servers with a data folder each, as on several machines, on one PostgreSQL database with sealed signing keys. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
const roles = '^/management/v1/domains/load/roles';
const refreshMs = 500;

interface World {
  readonly database: PostgresServer;
  readonly name: string;
  readonly installation: Installation;
  readonly servers: readonly Serving[];
  start(): Promise<Serving>;
}

async function startWorld(t: ExecutionContext, count: number, more = ''): Promise<World> {
  const database = await startPostgres(t);
  const name = await database.createDatabase('icu-en-US');
  const installation = await install(t, {
    domains: loadDomains,
    store: database.settings(name, { listen: true }),
    more: `snapshot: { refreshIntervalMs: ${refreshMs} }\nkeys: { storage: store, sealingKeyFile: sealing.key }\n${more}`,
  });
  writeFileSync(join(installation.folder, 'sealing.key'), randomBytes(32), { mode: 0o600 });
  let machines = 0;
  const start = (): Promise<Serving> => {
    machines += 1;
    const dataDir = join(installation.folder, `machine${machines}`);
    mkdirSync(dataDir, { mode: 0o700 });
    return serve(t, installation, { limits: `export SIGNET_DATA_DIR=${dataDir}` });
  };
  const servers = await Promise.all(Array.from({ length: count }, start));
  return { database, name, installation, servers, start };
}

async function caller({ installation }: World, serving: Serving | undefined, who: string): Promise<Caller> {
  if (serving === undefined) throw new Error('no server');
  return serving.as(await installation.pki.identity(who));
}

const operators = (world: World): Promise<Caller[]> =>
  Promise.all(world.servers.map((serving) => caller(world, serving, 'sys.auth.operator')));

async function allSettled(answers: readonly Promise<Answer>[]): Promise<readonly number[]> {
  return (await Promise.all(answers)).map(({ status }) => status).sort();
}

postgresTest('two servers make 50 changes each at once: one counter, one audit chain, no gap', async (t) => {
  const world = await startWorld(t, 2);
  const callers = await operators(world);
  const state = `select counter::int from meta`;
  const [before] = await world.database.query<{ counter: number }>(world.name, state);
  const changes = callers.flatMap((operator, side) =>
    Array.from({ length: 50 }, (_, index) =>
      operator(`${roles}/r${side}x${index}`, json({ members: ['media.player'] }, 'PUT')),
    ),
  );
  t.deepEqual([...new Set(await allSettled(changes))], [201]);
  const [after] = await world.database.query<{ counter: number }>(world.name, state);
  t.is(Number(after?.counter) - Number(before?.counter), 100);
  const [ids] = await world.database.query(
    world.name,
    'select count(distinct counter)::int as counters from audit where counter > $1',
    [before?.counter],
  );
  t.is(ids?.['counters'], 100, 'each change has a counter of its own');
  t.is((await world.installation.signet('audit', 'verify')).status, 0);
  t.deepEqual(await Promise.all(world.servers.map((serving) => serving.end())), [0, 0]);
});

postgresTest(
  'a join token counts once, a revocation is one, and lists only grow, whichever servers are asked',
  async (t) => {
    const world = await startWorld(t, 2);
    const admin = await caller(world, world.servers[0], 'media.admin');
    const strangers = world.servers.map((serving) => serving.as());
    for (let round = 0; round < 10; round += 1) {
      const id = `i-${round}`;
      const { body } = await admin(`/instance/sys.auth.server/media/player/${id}/token`);
      const csr = requestPem(ecPair(), { commonNames: ['media.player'], altNames: instanceNames(id) });
      const information = { provider: 'sys.auth.server', domain: 'media', service: 'player', csr };
      const registration = json({ ...information, attestationData: field(body, 'attestationData') });
      const statuses = await allSettled(
        [...strangers, ...strangers].map((stranger) => stranger('/instance', registration)),
      );
      t.deepEqual(statuses, [201, 403, 403, 403], id);
    }
    const players = await Promise.all(world.servers.map((serving) => caller(world, serving, 'media.player')));
    const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
    const serials = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const answer = await players[index % 2]?.('/domain/catalog/role/reader/token', json({ csr }));
        return new X509Certificate(String(field(answer?.body, 'token'))).serialNumber.toLowerCase();
      }),
    );
    const revoked = await Promise.all(
      serials.flatMap((serial) =>
        [1, 2].map(() => world.installation.signet('certificate', 'revoke', serial, '--reason', 'superseded')),
      ),
    );
    t.true(revoked.some(({ status }) => status === 0));
    const rows = await world.database.query<{ sequence: number }>(
      world.name,
      'select revocation_sequence::int as sequence from certificates where revocation_sequence is not null order by 1',
    );
    t.deepEqual(
      rows.map(({ sequence }) => sequence),
      Array.from({ length: 4 }, (_, index) => index + 1),
    );
    t.is((await world.installation.signet('audit', 'verify')).status, 0);
  },
);

postgresTest(
  'one rotation in a hurry is followed by every server, and verified with the keys of the others',
  async (t) => {
    const world = await startWorld(t, 3);
    const players = await Promise.all(world.servers.map((serving) => caller(world, serving, 'media.player')));
    const both = await Promise.all([1, 2].map(() => world.installation.signet('keys', 'rotate', '--now')));
    t.true(
      both.some(({ status }) => status === 0),
      both.map(({ stderr }) => stderr).join(),
    );
    const kids = async () =>
      Promise.all(
        players.map(async (player) => String(field((await player('/oauth2/token', token)).body, 'access_token'))),
      );
    let tokens: string[] = [];
    await until('all sign with one key', async () => {
      tokens = await kids();
      return new Set(tokens.map((one) => decodeProtectedHeader(one).kid)).size === 1;
    });
    for (const player of players) {
      const { body } = await player('/oauth2/keys?rfc=true');
      const keys = createLocalJWKSet(body as Parameters<typeof createLocalJWKSet>[0]);
      for (const one of tokens) await t.notThrowsAsync(jwtVerify(one, keys));
    }
  },
);

postgresTest('a change made on one server is live on the other', async (t) => {
  const world = await startWorld(t, 2);
  const [first] = await operators(world);
  const other = await caller(world, world.servers[1], 'media.player');
  if (first === undefined) return t.fail();
  const times: number[] = [];
  for (let index = 0; index < 30; index += 1) {
    const role = `live${index}`;
    const asked = form({ grant_type: 'client_credentials', scope: `load:role.${role}` });
    t.is((await first(`${roles}/${role}`, json({ members: ['media.player'] }, 'PUT'))).status, 201);
    const since = performance.now();
    await until('it is granted', async () => (await other('/oauth2/token', asked)).status === 200);
    times.push(performance.now() - since);
  }
  times.sort((one, another) => one - another);
  t.log(
    `median ${Math.round(times[15] ?? 0)} ms, slowest ${Math.round(times[29] ?? 0)} ms; they look every ${refreshMs} ms`,
  );
});

/** A balancer of TCP: the next server that takes the connection gets it. */
async function startBalancer(t: ExecutionContext, ports: readonly number[]): Promise<number> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const balancer = createServer((client) => {
    turn += 1;
    const order = ports.map((_, index) => ports[(turn + index) % ports.length] ?? 0);
    const attempt = (): void => {
      const port = order.shift();
      if (port === undefined) return void client.destroy();
      const upstream = connect(port, '127.0.0.1');
      upstream.once('error', attempt);
      upstream.once('connect', () => {
        upstream.off('error', attempt);
        for (const [socket, another] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          sockets.add(socket);
          socket.setNoDelay(true);
          socket.on('error', () => another.destroy());
          socket.pipe(another);
        }
      });
    };
    client.on('error', () => undefined);
    attempt();
  });
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    balancer.close();
  });
  return Object(balancer.address()).port;
}

postgresTest('three servers are replaced one after the other under 200 requests a second: none fails', async (t) => {
  t.timeout(240_000);
  const world = await startWorld(t, 3);
  const portOf = ({ baseUrl }: Serving) => Number(new URL(baseUrl).port);
  const ports = world.servers.map(portOf);
  const balancer = await startBalancer(t, ports);
  const { certificate, key } = await world.installation.pki.identity('media.player');
  const at = (name: string) => join(world.installation.folder, name);
  writeFileSync(at('player.pem'), certificate);
  writeFileSync(at('player.key'), key, { mode: 0o600 });
  const base = new URL(world.servers[0]?.baseUrl ?? '');
  base.port = String(balancer);
  const files = { caBundle: at('bundle.pem'), certificate: at('player.pem'), key: at('player.key') };
  await using client = createClient({ baseUrl: base.href.replace(/\/$/, ''), ...files });
  const errors: string[] = [];
  const under: Promise<unknown>[] = [];
  let life = 600;
  const timer = setInterval(() => {
    life += 1;
    const call =
      life % 2 === 0
        ? client.tokens.get({ domain: 'catalog', expiresIn: life })
        : client.roles.list({ domain: 'catalog' });
    under.push(call.catch((error: unknown) => void errors.push(String(error))));
  }, 5);
  for (const [index, serving] of world.servers.entries()) {
    t.is(await serving.end(), 0);
    // Where it was, so that the balancer finds it.
    const again = await serve(t, world.installation, {
      limits: `export SIGNET_DATA_DIR=${at(`machine${index + 1}`)}`,
      args: ['--port', String(ports[index])],
    });
    const ready = again.as();
    await until('it is ready', async () => (await ready('^/readyz')).status === 200);
  }
  clearInterval(timer);
  await Promise.all(under);
  t.log(`${under.length} requests`);
  t.deepEqual(errors, []);
  t.true(under.length > 200);
});
