import { StoreRefusedError } from '@signet/server/errors';
import { largeIndices, migrations } from '@signet/server/store/migrations/index';
import { openPostgresStore } from '@signet/server/store/postgres/open-postgres';
import test from 'ava';
import pg from 'pg';
import { domainContent } from '#support/domains';
import { noPostgres, postgresPrograms, sharedPostgres } from '#support/postgres';
import { saveDomain } from '#support/save-domain';

/* The schema of a PostgreSQL store: who makes it, who may work with it, and what is not taken for one. */

const postgresTest = postgresPrograms === undefined ? test.skip : test;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

const steps = Object.keys(migrations);

/** A new database, and its store opened once. */
async function migrated() {
  const server = await sharedPostgres();
  const database = await server.createDatabase('icu-en-US');
  const settings = server.settings(database);
  await (await openPostgresStore(settings)).close();
  return { settings, run: (text: string, values?: unknown[]) => server.query(database, text, values) };
}

postgresTest('servers that start at once on an empty database make one schema', async (t) => {
  const server = await sharedPostgres();
  const settings = server.settings(await server.createDatabase('icu-en-US'));
  const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(settings)));
  await stores[0]?.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('media')));
  for (const store of stores) t.deepEqual(await store.domainNames(), ['media']);
  await Promise.all(stores.map((store) => store.close()));
});

postgresTest('a program goes on beside a newer schema as long as the newer program says so', async (t) => {
  const { settings, run } = await migrated();
  await run('alter table domains add column colour text collate "C"');
  await run(`insert into kysely_migration (name, timestamp) values ('999-colours', '2030')`);
  const store = await openPostgresStore(settings);
  await store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('media')));
  t.deepEqual(await store.domainNames(), ['media']);
  await store.close();
  await run('update schema_level set least_program = $1', [steps.length + 1]);
  t.like(await t.throwsAsync(openPostgresStore(settings)), { reason: 'newer-schema', exitStatus: 78 });
  await run('update schema_level set least_program = $1', [steps.length]);
  await (await openPostgresStore(settings)).close();
});

postgresTest('steps of another program are refused', async (t) => {
  const { settings, run } = await migrated();
  await run(`update kysely_migration set name = '002-others' where name = '002-records'`);
  t.like(await t.throwsAsync(openPostgresStore(settings)), { reason: 'diverged-schema' });
});

postgresTest('without `migrate: auto` an older schema is refused, and left as it is', async (t) => {
  const server = await sharedPostgres();
  const database = await server.createDatabase();
  const settings = server.settings(database, { migrate: 'manual' });
  t.like(await t.throwsAsync(openPostgresStore(settings)), { reason: 'older-schema' });
  t.deepEqual(await server.query(database, `select 1 from pg_tables where schemaname = 'public'`), []);
  await (await openPostgresStore(server.settings(database))).close();
  await (await openPostgresStore(settings)).close();
});

for (const [what, sql] of [
  ['a column that is compared by a language', 'alter table domains alter column name type text collate "en-x-icu"'],
  [
    'a trigger',
    `create function nothing() returns trigger language plpgsql as $$ begin return null; end $$;
     create trigger spy before insert on audit for each row execute function nothing()`,
  ],
  ['a rule', 'create rule silence as on insert to audit do instead nothing'],
  ['row security', 'alter table members enable row level security'],
] as const) {
  postgresTest(`a store with ${what} is refused`, async (t) => {
    const { settings, run } = await migrated();
    await run(sql);
    const refusal = await t.throwsAsync(openPostgresStore(settings), { instanceOf: StoreRefusedError });
    t.is(refusal.reason, 'foreign-schema');
  });
}

postgresTest('a large index that is missing, or was cut off, is made without a lock', async (t) => {
  const { settings, run } = await migrated();
  for (const { name } of largeIndices) {
    const isValid = async () =>
      (await run('select indisvalid as valid from pg_index where indexrelid = to_regclass($1)', [name]))[0]?.['valid'];
    t.true(await isValid());
    await run(`drop index ${name}`);
    await (await openPostgresStore(settings)).close();
    t.true(await isValid(), 'it was missing');
    await run(`update pg_index set indisvalid = false where indexrelid = to_regclass($1)`, [name]);
    await (await openPostgresStore(settings)).close();
    t.true(await isValid(), 'it was cut off');
  }
});

postgresTest('large indices are left to the server that makes them', async (t) => {
  const { settings, run } = await migrated();
  const [{ name = '' } = {}] = largeIndices;
  const isThere = async () => (await run('select to_regclass($1) is not null as there', [name]))[0]?.['there'];
  await run(`drop index ${name}`);
  const { database, user, hosts } = settings;
  const other = new pg.Client({ host: hosts[0]?.replace(/:\d+$/, ''), user, database });
  await other.connect();
  await other.query('begin');
  await other.query('select pg_advisory_xact_lock(6000602)');
  await (await openPostgresStore(settings)).close();
  t.false(await isThere());
  await other.query('rollback');
  await other.end();
  await (await openPostgresStore(settings)).close();
  t.true(await isThere());
});
