import type { Schema } from '@signet/server/store/database-schema';
import { SqliteQueries } from '@signet/server/store/sqlite/sqlite-queries';
import test from 'ava';
import Database from 'better-sqlite3';
import { type Kysely, sql } from 'kysely';

function opened() {
  const database = new Database(':memory:');
  database.exec('create table noted (value integer unique)');
  const values = () => database.prepare('select value from noted').pluck().all();
  const note = (value: number) => (db: Kysely<Schema>) => sql`insert into noted values (${value})`.execute(db);
  return { queries: new SqliteQueries(database, 'changes'), values, note };
}

test('a transaction keeps what its work did, and nothing of work that fails', async (t) => {
  const { queries, values, note } = opened();
  await queries.transact(note(1));
  const failing = queries.transact(async (db) => {
    await note(2)(db);
    throw new Error('refused');
  });
  await t.throwsAsync(failing, { message: 'refused' });
  await queries.transact(note(3));
  t.deepEqual(values(), [1, 3]);
});

test('a statement that comes after its work is refused: it would be part of another transaction, or of none', async (t) => {
  const { queries, values, note } = opened();
  const late = await queries.transact(async (db) => ({ db }));
  await t.throwsAsync(note(1)(late.db), { message: 'the transaction is over' });
  await queries.transact(async (db) => {
    await t.throwsAsync(note(2)(late.db), { message: 'the transaction is over' });
    await note(3)(db);
  });
  t.deepEqual(values(), [3]);
});

test('a statement that comes after SQLite has rolled back is refused: it would count by itself', async (t) => {
  const { queries, values, note } = opened();
  const failing = queries.transact(async (db) => {
    await note(1)(db);
    // As after a full disk.
    await t.throwsAsync(sql`insert or rollback into noted values (1)`.execute(db), { message: /^UNIQUE/ });
    await note(2)(db);
  });
  await t.throwsAsync(failing, { message: 'the transaction is over' });
  await queries.transact(note(3));
  t.deepEqual(values(), [3]);
});

test('a statement outside of a transaction, another transaction and the end wait until it has ended', async (t) => {
  const { queries, values, note } = opened();
  const order: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = queries.transact(async (db) => {
    await note(1)(db);
    await promise;
    order.push('first');
    throw new Error('refused');
  });
  const outside = note(2)(queries.db).then(() => order.push('outside'));
  const second = queries.transact(note(3)).then(() => order.push(`second ${values().join()}`));
  resolve();
  await t.throwsAsync(first, { message: 'refused' });
  await Promise.all([outside, second]);
  t.deepEqual(order, ['first', 'outside', 'second 2,3']);
  let isOver = false;
  const last = queries.transact(async (db) => {
    await note(4)(db);
    isOver = true;
  });
  await queries.close();
  t.true(isOver);
  await last;
});
