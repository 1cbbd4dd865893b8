import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { faultsAfter, loseOnce, type Pair, startFailover, startFailoverLoad, startPair } from '#support/failover';
import { field, json } from '#support/instance-world';
import { readinessOf } from '#support/operators';
import { noPostgres, postgresPrograms } from '#support/postgres';
import type { Serving } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

/* The loss of the primary; `npm run failover -w test` does it more often. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
const losses = 2;

postgresTest(
  'the primary is lost under load: what was acknowledged is there, and nobody restarts anything',
  async (t) => {
    t.timeout(300_000);
    const world = await startFailover(t, await startPair(t, 'sync'));
    const load = await startFailoverLoad(world);
    for (let loss = 1; loss <= losses; loss += 1) {
      t.log(`changes are taken ${Math.round(await loseOnce(world, load))} ms after the promotion (bound 2000)`);
    }
    await load.stop();
    const { roles, certificates, revoked, refused, reads } = load.told;
    t.log(
      `${roles.length} changes, ${certificates.length} certificates, ${revoked.length} revocations; ${refused} refused`,
    );
    t.log(`${reads} answers from memory meanwhile`);
    const faults = await faultsAfter(world, load.told);
    t.deepEqual(faults, []);
    assertWithin(t, 'acknowledged and lost, or out of order', faults.length, 0);
    t.deepEqual(await Promise.all(world.servings.map((serving) => serving.end())), [0, 0]);
  },
);

async function startOne(t: ExecutionContext, kind: 'sync' | 'async') {
  const pair = await startPair(t, kind, { statementTimeoutMs: 500 });
  const world = await startFailover(t, pair);
  const { pki } = world.installation;
  const [first, second] = world.servings;
  if (first === undefined || second === undefined) throw new Error('two servers');
  const operator = first.as(await pki.identity('sys.auth.operator'));
  const player = first.as(await pki.identity('media.player'));
  const addRole = (name: string) =>
    operator(`^/management/v1/domains/load/roles/${name}`, json({ members: ['media.player'] }, 'PUT'));
  return { ...world, pair, first, second, operator, player, addRole };
}

postgresTest('the standby is silent: a commit that nobody else has is not acknowledged', async (t) => {
  t.timeout(300_000);
  const { pair, first, second, operator, player, addRole } = await startOne(t, 'sync');
  t.is((await addRole('before')).status, 201);
  pair.standby().signalAll('SIGSTOP');
  const refused = async (name: string, message: string) => {
    const answer = await addRole(name);
    t.is(answer.status, 503, answer.text);
    t.truthy(answer.headers['retry-after']);
    t.is(field(answer.body, 'message'), message);
  };
  // The database does not limit the wait; a person may end it, and then it says that all went well, with a warning.
  const ended = refused('meanwhile', 'the change may not be on every database server that it has to be on');
  const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
  await until('it waits', async () => (await pair.query(cancel)).length > 0);
  await ended;
  await refused('unknown', 'the connection to the database was lost: it is unknown whether the change was saved');
  // What waits for the standby keeps its lock.
  await refused('behind', 'the store is locked by another writer');
  t.is((await player('/oauth2/token', token)).status, 200);
  // It is in the store, and whoever asks is told what is there.
  t.is((await operator('^/management/v1/domains/load/roles/meanwhile')).status, 200);
  pair.standby().signalAll('SIGCONT');
  await until('changes are acknowledged again', async () => (await addRole('after')).status < 300);
  t.deepEqual(await Promise.all([first.end(), second.end()]), [0, 0]);
});

/** Stops what sends the log of changes to the standby. */
async function holdBack(pair: Pair): Promise<void> {
  const [sender] = await pair.primary().query<{ pid: number }>('postgres', 'select pid from pg_stat_replication');
  process.kill(sender?.pid ?? 0, 'SIGSTOP');
}

postgresTest('changes are lost without synchronous replication: it is noticed, and a new epoch ends it', async (t) => {
  t.timeout(300_000);
  const { pair, first, second, installation, player, addRole } = await startOne(t, 'async');
  const both: readonly Serving[] = [first, second];
  await holdBack(pair);
  for (const name of ['lost1', 'lost2', 'lost3']) t.is((await addRole(name)).status, 201);
  const [{ counter } = { counter: 0 }] = await pair.query<{ counter: number }>('select counter::int from meta');
  const state = (serving: Serving) => readinessOf(serving, installation.pki);
  const knows = async (serving: Serving) => field((await state(serving))['snapshot'], 'counter') === counter;
  await until('both know what will be lost', async () => (await Promise.all(both.map(knows))).every(Boolean));
  await pair.lose();
  await until('changes are taken', async () => (await addRole('kept')).status === 201);
  await until('both say so', async () => (await Promise.all(both.map(state))).every(({ diverged }) => diverged));
  for (const serving of both) {
    await until('it is noticed', () => serving.errors().includes('store-diverged: '));
    t.is((await state(serving))['code'], 200, 'it goes on');
  }
  t.is((await player('/oauth2/token', token)).status, 200);
  const begun = await installation.signet('store', 'new-epoch', '--reason', 'the database failed over', '--json');
  t.deepEqual([begun.status, JSON.parse(begun.stdout)], [0, { epoch: 2 }]);
  await until('it is over', async () =>
    (await Promise.all(both.map(state))).every(({ diverged }) => diverged === undefined),
  );
  t.is((await installation.signet('audit', 'verify')).status, 0);
  t.deepEqual(await Promise.all(both.map((serving) => serving.end())), [0, 0]);
});
