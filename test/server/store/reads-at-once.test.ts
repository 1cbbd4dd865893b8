import { join } from 'node:path';
import type { Schema } from '@signet/server/store/database-schema';
import { guardDatabase } from '@signet/server/store/guarded-database';
import { StoreReadings } from '@signet/server/store/sqlite/readings';
import type { StoreDatabase } from '@signet/server/store/store-database';
import test from 'ava';
import Database from 'better-sqlite3';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely';
import { temporaryFolder } from '#support/temp';

const nowhere = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** A database whose reads are started by `startReads`; nothing else of it is used. */
function guarded(startReads: StoreDatabase['startReads']) {
  const translate = (error: unknown) => new Error('translated', { cause: error });
  return guardDatabase({ startReads, translate } as Partial<StoreDatabase> as StoreDatabase);
}

test('reads of one turn of the event loop are started together, and later ones with the next', async (t) => {
  const started: number[] = [];
  let count = 0;
  const database = guarded(async (start) => {
    count = 0;
    start(nowhere);
    started.push(count);
  });
  const read = () => database.read(async () => (count += 1));
  await Promise.all([read(), read(), read()]);
  await read();
  t.deepEqual(started, [3, 1]);
});

test('a read that fails fails alone', async (t) => {
  const database = guarded(async (start) => start(nowhere));
  const failing = database.read(() => Promise.reject(new Error('no such row')));
  const throwing = database.read(() => {
    throw new Error('no such table');
  });
  const other = database.read(async () => 'found');
  t.like(await t.throwsAsync(failing, { message: 'translated' }), { cause: { message: 'no such row' } });
  t.like(await t.throwsAsync(throwing, { message: 'translated' }), { cause: { message: 'no such table' } });
  t.is(await other, 'found');
});

test('a database that is gone fails each of the reads', async (t) => {
  const database = guarded(() => Promise.reject(new Error('gone')));
  const reads = [1, 2].map((answer) => database.read(async () => answer));
  for (const read of reads)
    t.like(await t.throwsAsync(read, { message: 'translated' }), { cause: { message: 'gone' } });
});

test('what is executed while reads are started is of one instant, and what comes later of another', async (t) => {
  const file = join(temporaryFolder(t), 'reads.db');
  const writer = new Database(file);
  writer.pragma('journal_mode = WAL');
  writer.exec('create table noted (value integer)');
  const readings = new StoreReadings(new Database(file));
  const count = async (db: Kysely<Schema>) =>
    (await sql<{ count: number }>`select count(*) as count from noted`.execute(db)).rows[0]?.count;
  const counts: Promise<number | undefined>[] = [];
  readings.atOneInstant((db) => {
    counts.push(count(db));
    writer.exec('insert into noted values (1)');
    counts.push(count(db));
  });
  counts.push(count(readings.queries.db));
  t.deepEqual(await Promise.all(counts), [0, 0, 1]);
  await readings.queries.close();
  writer.close();
});
