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
  const collations = ['C', 'icu-en-US'] as const;
  // Migrated once for each.
  const templates: string[] = [];
  for (const collation of collations) {
    const database = await server.createDatabase(collation);
    await (await openPostgresStore(server.settings(database))).close();
    templates.push(database);
  }
  test.after.always(() => file.end());
  for (const [index, collation] of collations.entries()) {
    storeSuite(`PostgreSQL ${collation}`, async (_, clock) => {
      const database = await server.createDatabase(collation, templates[index]);
      return openPostgresStore(server.settings(database), { clock });
    });
  }
}
