import { openPostgresStore } from '@signet/server/store/postgres/open-postgres';
import test from 'ava';
import { hasPgbouncer, noPgbouncer, startPgbouncer } from '#support/pgbouncer';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { wholeFile } from '#support/start-server';
import { until } from '#support/until';
import { storeSuite } from '../../server/store/store-suite.ts';

/* A store behind a pooler that gives each transaction another connection. */

if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());
else if (!hasPgbouncer) test.skip(noPgbouncer, (t) => t.pass());
else {
  const file = wholeFile();
  const server = await startPostgres(file, ['max_connections=500']);
  // Fewer connections than one process would have: those of a transaction are shared by all.
  const pooler = await startPgbouncer(file, server, 4);
  const template = await server.createDatabase();
  await (await openPostgresStore(server.settings(template))).close();
  test.after.always(() => file.end());

  storeSuite('PostgreSQL behind a pooler', async (_, clock) => {
    const database = await server.createDatabase('C', template);
    return openPostgresStore(server.settings(database, { hosts: [pooler] }), { clock });
  });

  test('the schema is made through a pooler, by several at once', async (t) => {
    const database = await server.createDatabase();
    const settings = server.settings(database, { hosts: [pooler] });
    const stores = await Promise.all(Array.from({ length: 3 }, () => openPostgresStore(settings)));
    for (const store of stores) t.is((await store.state()).epoch, 1);
    await Promise.all(stores.map((store) => store.close()));
  });

  for (const [behind, warnings] of [
    [false, 0],
    [true, 1],
  ] as const) {
    test(`hints of changes ${behind ? 'do not arrive, which is told' : 'arrive'} ${behind ? 'behind' : 'without'} a pooler`, async (t) => {
      const database = await server.createDatabase('C', template);
      const changed = { listen: true, ...(behind && { hosts: [pooler] }) };
      const problems: string[] = [];
      const since = performance.now();
      const onProblem = (problem: string) => void problems.push(problem);
      const store = await openPostgresStore(server.settings(database, changed), { onProblem });
      if (behind) {
        await until('it is told', () => problems.length > 0);
        t.log(`told after ${Math.round(performance.now() - since)} ms`);
        t.regex(String(problems[0]), /`store\.postgres\.listen` does not work through a pooler/);
      } else {
        let hints = 0;
        store.watch(() => {
          hints += 1;
        });
        await until('a hint arrives', async () => {
          await server.query(database, "select pg_notify('signet', '')");
          return hints > 0;
        });
      }
      await store.close();
      t.is(problems.length, warnings);
    });
  }
}
