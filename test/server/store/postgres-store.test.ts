import { openPostgresStore } from '@signet/server/store/postgres/open-postgres';
import test from 'ava';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { wholeFile } from '#support/start-server';
import { storeSuite } from './store-suite.ts';

if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());
else {
  const file = wholeFile();
  // The tests of the suite run at the same time, with a store each.
  const server = await startPostgres(file, ['max_connections=500']);
  // Migrated once. A collation that does not compare bytes shows each comparison that does not state its own.
  const template = await server.createDatabase('icu-en-US');
  await (await openPostgresStore(server.settings(template))).close();
  test.after.always(() => file.end());
  storeSuite('PostgreSQL icu-en-US', async (_, clock) => {
    const database = await server.createDatabase('icu-en-US', template);
    return openPostgresStore(server.settings(database), { clock });
  });
}
