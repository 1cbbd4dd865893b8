import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { operatorsDomain, readinessOf } from '#support/operators';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { seriesIn } from '#support/scrape';
import { caller, startServer } from '#support/start-server';

/* A server whose clock is ahead of that of its database issues what hosts refuse. */

const minute = 60_000;
const postgresTest = postgresPrograms === undefined ? test.skip : test;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

for (const aheadMs of [1.5 * minute, 60 * minute]) {
  postgresTest(
    `a clock ${aheadMs / minute} minutes ahead of the database: unready, told, and ready when it is put right`,
    async (t) => {
      const database = await startPostgres(t);
      const { hosts, user, database: name } = database.settings(await database.createDatabase());
      const postgres = { hosts, user, database: name };
      const clock = new FakeClock(systemClock.now() + aheadMs);
      const server = await startServer(t, {
        clock,
        domains: [operatorsDomain],
        options: {
          'metrics.listen.port': 0,
          'store.kind': 'postgres',
          ...Object.fromEntries(Object.entries(postgres).map(([key, value]) => [`store.postgres.${key}`, value])),
        },
      });
      const ready = async () => {
        await server.running.refresh();
        const [told, scraped] = await Promise.all([
          readinessOf({ as: (who) => caller(t, server, who) }, server.pki),
          fetch(server.running.metricsUrl ?? '').then((answer) => answer.text()),
        ]);
        const series = seriesIn(scraped);
        const gauges = ['signet_ready{reason="clock"}', 'signet_clock_doubted{by="database"}'];
        return [told['code'], told['status'], told['clock'], ...gauges.map((gauge) => series.get(gauge))];
      };
      const said = () => server.log.filter((line) => 'clock' in line || /clock agrees/.test(String(line['msg'])));
      t.deepEqual(await ready(), [503, 'clock', 'wrong', 0, 1]);
      clock.advance(-aheadMs);
      t.deepEqual(await ready(), [200, 'ready', undefined, 1, 0]);
      clock.advance(aheadMs);
      t.deepEqual(await ready(), [503, 'clock', 'wrong', 0, 1]);
      // Put right while the database is away: nothing has to be started again.
      await database.stop();
      clock.advance(-aheadMs);
      await t.throwsAsync(server.running.refresh());
      t.is((await caller(t, server)('/readyz')).status, 200);
      t.deepEqual(
        said().map(({ level, clock: by }) => [level, by]),
        [
          ['error', 'database'],
          ['info', undefined],
          ['error', 'database'],
          ['info', undefined],
        ],
      );
    },
  );
}
