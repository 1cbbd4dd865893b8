import { renameSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { field, instanceDomains, instanceRequest, json } from '#support/instance-world';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import type { Answer } from '#support/start-server';

/* A fault of the store that has passed: every process of a server goes on with the next request, and no join token is lost. */

interface World {
  readonly installation: Installation;
  readonly serving: Serving;
}

/** Registers over a connection of its own: the processes of the server share them. */
async function register({ serving }: World, id: string, attestationData: string): Promise<Answer> {
  const call = serving.as();
  const whose = { provider: 'sys.auth.server', domain: 'media', service: 'player' };
  const answer = await call('/instance', json({ ...whose, attestationData, csr: instanceRequest(id) }));
  call.agent.destroy();
  return answer;
}

async function joinTokens(world: World, count: number): Promise<ReadonlyMap<string, string>> {
  const admin = world.serving.as(await world.installation.pki.identity('media.admin'));
  const tokens = new Map<string, string>();
  for (let index = 0; index < count; index += 1) {
    const { body } = await admin(`/instance/sys.auth.server/media/player/i-${index}/token`);
    tokens.set(`i-${index}`, String(field(body, 'attestationData')));
  }
  return tokens;
}

async function passes(t: ExecutionContext, world: World, fault: () => Promise<() => unknown>): Promise<void> {
  const tokens = await joinTokens(world, 24);
  const end = await fault();
  const during = [...tokens].slice(0, 12);
  const refused = await Promise.all(during.map(([id, token]) => register(world, id, token)));
  t.deepEqual([...new Set(refused.map(({ status }) => status))], [503], refused[0]?.text);
  await end();
  for (const [id, token] of tokens) {
    const answer = await register(world, id, token);
    t.is(answer.status, 201, `${id}: ${answer.text}`);
    t.is((await register(world, id, token)).status, 403, 'a token registers once');
  }
}

async function onSqlite(t: ExecutionContext): Promise<World> {
  const installation = await install(t, { domains: instanceDomains });
  return { installation, serving: await serve(t, installation, { args: ['--workers', '2'] }) };
}

test('the file of the store is gone, and back', async (t) => {
  const world = await onSqlite(t);
  const { storeFile } = world.installation;
  await passes(t, world, async () => {
    renameSync(storeFile, `${storeFile}.away`);
    return () => renameSync(`${storeFile}.away`, storeFile);
  });
});

test('another process locks the store, and lets it go', async (t) => {
  const world = await onSqlite(t);
  const other = new Database(world.installation.storeFile);
  t.teardown(() => void other.close());
  await passes(t, world, async () => {
    other.exec('begin immediate');
    return () => other.exec('rollback');
  });
});

const postgresTest = postgresPrograms === undefined ? test.skip : test;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

postgresTest('the database is stopped, and started', async (t) => {
  const database = await startPostgres(t);
  const store = database.settings(await database.createDatabase(), { listen: true });
  const installation = await install(t, { domains: instanceDomains, store });
  const world = { installation, serving: await serve(t, installation, { args: ['--workers', '2'] }) };
  await passes(t, world, async () => {
    await database.stop();
    return () => database.start();
  });
});
