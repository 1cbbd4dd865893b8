import test from 'ava';
import { assertWithin } from '#support/cost';
import { loadDomains } from '#support/mixed-load';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

/* Database queries of an idle server. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

postgresTest('an idle server asks for the state at each refresh, and for nothing else', async (t) => {
  const database = await startPostgres(t, ['shared_preload_libraries=pg_stat_statements']);
  const name = await database.createDatabase();
  await database.query('postgres', 'create extension pg_stat_statements');
  const store = database.settings(name, { listen: true });
  const more = 'snapshot: { refreshIntervalMs: 500 }';
  await serve(t, await install(t, { domains: loadDomains, store, more }));
  const statements = async () => {
    const rows = await database.query<{ query: string; calls: string }>(
      'postgres',
      `select query, calls from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = '${name}'`,
    );
    const callsOf = (isState: boolean) =>
      rows
        .filter(({ query }) => /^select "epoch", "counter"/.test(query) === isState)
        .reduce((sum, { calls }) => sum + Number(calls), 0);
    return { looks: callsOf(true), others: callsOf(false) };
  };
  const forget = () => database.query('postgres', 'select pg_stat_statements_reset()');
  await until('it has looked', async () => (await statements()).looks > 3);
  await forget();
  // A look that is late by more than it may be, as on a busy machine, has revocations read in its place: count again then.
  await until('it looks six times and does nothing else', async () => {
    const { looks, others } = await statements();
    if (others > 0) await forget();
    return others === 0 && looks >= 6;
  });
  const { looks, others } = await statements();
  assertWithin(t, `statements beside ${looks} looks`, others, 0);
});
