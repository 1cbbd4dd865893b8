import { appendFileSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresSettings } from '@signet/server/config/store-place';
import test, { type ExecutionContext } from 'ava';
import { json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { noPostgres, type PostgresServer, postgresPrograms, startPostgres, unprivileged } from '#support/postgres';
import { runProgram } from '#support/run-program';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { type StallingProxy, startStallingProxy } from '#support/stalling-proxy';
import { type Answer, type Caller, form } from '#support/start-server';
import { until } from '#support/until';

/* Server while its database is away, stopped, unreachable, full, read-only, out of connections, or ends its connections. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
const roles = '^/management/v1/domains/load/roles';

interface World {
  readonly database: PostgresServer;
  readonly name: string;
  readonly installation: Installation;
  readonly serving: Serving;
  readonly operator: Caller;
  readonly player: Caller;
}

async function startWorld(
  t: ExecutionContext,
  options: readonly string[] = [],
  change: (database: PostgresServer, name: string) => Promise<Partial<PostgresSettings>> = async () => ({}),
): Promise<World> {
  const database = await startPostgres(t, options);
  const name = await database.createDatabase('icu-en-US');
  const changed = await change(database, name);
  const store = database.settings(name, { listen: true, statementTimeoutMs: 1500, connectTimeoutMs: 2000, ...changed });
  const installation = await install(t, { domains: loadDomains, store, more: 'snapshot: { refreshIntervalMs: 500 }' });
  const serving = await serve(t, installation);
  const as = async (who: string) => serving.as(await installation.pki.identity(who));
  return {
    database,
    name,
    installation,
    serving,
    operator: await as('sys.auth.operator'),
    player: await as('media.player'),
  };
}

let made = 0;

/** A change like any other. */
function addRole({ operator }: Pick<World, 'operator'>): Promise<Answer> {
  made += 1;
  return operator(`${roles}/made${made}`, json({ members: ['media.player'] }, 'PUT'));
}

/** Adds a role that needs pages of its own. */
function addLargeRole({ operator }: Pick<World, 'operator'>): Promise<Answer> {
  made += 1;
  const members = Array.from({ length: 200 }, (_, index) => `media.m${made}-${index}`);
  return operator(`${roles}/made${made}`, json({ members }, 'PUT'));
}

/** Requires the operations that must go on without the store. */
async function requireReads(t: ExecutionContext, { player }: World): Promise<void> {
  t.is((await player('/oauth2/token', token)).status, 200, 'a token');
  t.is((await player('/access/read/catalog:movie')).status, 200, 'an access check');
  t.is((await player('/domain/catalog/policy/signed')).status, 200, 'a bundle');
  t.is((await player('/oauth2/keys')).status, 200, 'the keys');
}

async function requireRefusal(t: ExecutionContext, world: World): Promise<void> {
  const { status, headers } = await addRole(world);
  t.is(status, 503, 'a change');
  t.truthy(headers['retry-after']);
}

/** Time from the database's return to the first successful change, in milliseconds. */
async function recovery(world: World, since: number): Promise<number> {
  await until('changes are taken again', async () => (await addRole(world)).status === 201);
  return performance.now() - since;
}

postgresTest('the database ends, and comes back', async (t) => {
  const world = await startWorld(t);
  t.is((await addRole(world)).status, 201);
  await requireReads(t, world);
  await world.database.stop('hard');
  await requireRefusal(t, world);
  await requireReads(t, world);
  await world.database.start();
  t.log(`changes are taken ${Math.round(await recovery(world, performance.now()))} ms after the database is back`);
  t.is((await world.installation.signet('audit', 'verify')).status, 0);
  t.is(await world.serving.end(), 0);
});

postgresTest('the database stops in the middle of it all, and goes on', async (t) => {
  const world = await startWorld(t);
  const { database } = world;
  const pids = await database.query<{ pid: number }>(
    'postgres',
    'select pid from pg_stat_activity where datname = $1',
    [world.name],
  );
  t.true(pids.length > 0);
  for (const { pid } of pids) process.kill(pid, 'SIGSTOP');
  database.signal('SIGSTOP');
  await requireRefusal(t, world);
  await requireReads(t, world);
  for (const { pid } of pids) process.kill(pid, 'SIGCONT');
  database.signal('SIGCONT');
  t.log(`changes are taken ${Math.round(await recovery(world, performance.now()))} ms after the database goes on`);
  t.is(await world.serving.end(), 0);
});

postgresTest(
  'connections are ended again and again: what was acknowledged is there, and the server lives',
  async (t) => {
    const world = await startWorld(t);
    const { database, name } = world;
    let isOver = false;
    const ending = (async () => {
      while (!isOver) {
        await database.query(
          'postgres',
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'signet'`,
          [name],
        );
        await pause(150);
      }
    })();
    const acknowledged: string[] = [];
    let refused = 0;
    for (let index = 0; index < 150; index++) {
      const role = `kept${index}`;
      const { status } = await world.operator(`${roles}/${role}`, json({ members: ['media.player'] }, 'PUT'));
      if (status === 201) acknowledged.push(role);
      else refused += 1;
      t.true([201, 503].includes(status), `status ${status}`);
      t.is((await world.player('/oauth2/token', token)).status, 200);
    }
    isOver = true;
    await ending;
    await recovery(world, performance.now());
    for (const role of acknowledged) t.is((await world.operator(`${roles}/${role}`)).status, 200, role);
    t.log(`${acknowledged.length} changes were acknowledged and are there, ${refused} were refused`);
    t.is((await world.installation.signet('audit', 'verify')).status, 0);
    t.is(await world.serving.end(), 0);
  },
);

postgresTest('the database takes no changes for a while', async (t) => {
  const world = await startWorld(t);
  const { database, name } = world;
  const restart = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  await database.query('postgres', `alter database ${name} set default_transaction_read_only = on`);
  await database.query('postgres', restart);
  await until('changes are refused', async () => (await addRole(world)).status === 503);
  await requireReads(t, world);
  await database.query('postgres', `alter database ${name} reset default_transaction_read_only`);
  await database.query('postgres', restart);
  t.log(`changes are taken ${Math.round(await recovery(world, performance.now()))} ms after it takes some`);
  t.is(await world.serving.end(), 0);
});

postgresTest('the database has fewer connections than the server would like', async (t) => {
  const world = await startWorld(t, ['max_connections=5', 'superuser_reserved_connections=1']);
  const changes = Array.from({ length: 30 }, () => addRole(world));
  const reads = Array.from({ length: 30 }, () => world.operator(`${roles}?limit=10`));
  const statuses = (await Promise.all([...changes, ...reads])).map(({ status }) => status);
  t.deepEqual([...new Set(statuses)].sort(), [200, 201]);
  await requireReads(t, world);
  t.is(await world.serving.end(), 0);
});

for (const [what, passing] of [
  ['the network to the database stalls', 'none'],
  ['the way of the answers stalls', 'requests'],
] as const) {
  postgresTest(`${what}, and goes on`, async (t) => {
    let proxy: StallingProxy | undefined;
    const world = await startWorld(t, [], async (database) => {
      proxy = await startStallingProxy(t, database.host.replace(':', '/.s.PGSQL.'));
      return { hosts: [proxy.host] };
    });
    t.is((await addRole(world)).status, 201);
    proxy?.pass(passing);
    const refused = await Promise.all(Array.from({ length: 12 }, () => addRole(world)));
    t.deepEqual([...new Set(refused.map(({ status }) => status))], [503]);
    await requireReads(t, world);
    await requireRefusal(t, world);
    proxy?.pass('all');
    t.log(`changes are taken ${Math.round(await recovery(world, performance.now()))} ms after the network is back`);
    t.is((await world.installation.signet('audit', 'verify')).status, 0);
    t.is(await world.serving.end(), 0);
  });
}

postgresTest('connections are reset again and again', async (t) => {
  let proxy: StallingProxy | undefined;
  const world = await startWorld(t, [], async (database) => {
    proxy = await startStallingProxy(t, database.host.replace(':', '/.s.PGSQL.'));
    return { hosts: [proxy.host] };
  });
  for (let round = 0; round < 20; round++) {
    const changes = Array.from({ length: 5 }, () => addRole(world));
    proxy?.reset();
    for (const { status } of await Promise.all(changes)) t.true([201, 503].includes(status), `status ${status}`);
    await requireReads(t, world);
  }
  await recovery(world, performance.now());
  t.is((await world.installation.signet('audit', 'verify')).status, 0);
  t.is(await world.serving.end(), 0);
});

/** A file system in memory that the database can write; undefined where this user may make none. */
async function mountDisk(t: ExecutionContext): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pg-disk-'));
  const mount = await runProgram('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).catch(() => undefined);
  t.teardown(async () => {
    if (mount?.status === 0) await runProgram('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return mount?.status === 0 ? folder : undefined;
}

postgresTest('the disk of the database is full for a while', async (t) => {
  const disk = await mountDisk(t);
  if (disk === undefined) {
    t.log('skipped: this user may mount no small disk');
    t.pass();
    return;
  }
  const { uid, gid } = unprivileged();
  if (uid !== undefined) chownSync(disk, uid, gid ?? uid);
  const world = await startWorld(t, [], async (database, name) => {
    await database.query('postgres', `create tablespace small location '${disk}'`);
    await database.query('postgres', `alter database ${name} set tablespace small`);
    return {};
  });
  t.is((await addRole(world)).status, 201);
  const filler = join(disk, 'filler');
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size));
    } catch {
      // Full.
    }
  }
  // What fits into the pages that there are still goes well.
  await until('a change is refused', async () => {
    const { status, headers } = await addLargeRole(world);
    t.true([201, 503].includes(status), `status ${status}`);
    return status === 503 && headers['retry-after'] !== undefined;
  });
  await requireReads(t, world);
  rmSync(filler);
  t.log(`changes are taken ${Math.round(await recovery(world, performance.now()))} ms after there is room`);
  t.is((await world.installation.signet('audit', 'verify')).status, 0);
  t.is(await world.serving.end(), 0);
});
