import type { Schema } from '@signet/server/store/database-schema';
import { Transactions } from '@signet/server/store/sqlite/transactions';
import test from 'ava';
import Database from 'better-sqlite3';
import { type Kysely, sql } from 'kysely';

function opened() {
  const database = new Database(':memory:');
  database.exec('create table noted (value integer unique)');
  const values = () => database.prepare('select value from noted').pluck().all();
  const note = (value: number) => (db: Kysely<Schema>) => sql`insert into noted values (${value})`.execute(db);
  return { transactions: new Transactions(database), values, note };
}

test('a transaction keeps what its work did, and nothing of work that fails', async (t) => {
  const { transactions, values, note } = opened();
  await transactions.execute((run) => run(note(1)));
  const failing = transactions.execute(async (run) => {
    await run(note(2));
    throw new Error('refused');
  });
  await t.throwsAsync(failing, { message: 'refused' });
  await transactions.execute((run) => run(note(3)));
  t.deepEqual(values(), [1, 3]);
});

test('a statement that comes after its work is refused: it would be part of another transaction, or of none', async (t) => {
  const { transactions, values, note } = opened();
  const late = await transactions.execute((run) => run(async (db) => ({ db })));
  await t.throwsAsync(note(1)(late.db), { message: 'the transaction is over' });
  await transactions.execute(async (run) => {
    await t.throwsAsync(note(2)(late.db), { message: 'the transaction is over' });
    await run(note(3));
  });
  t.deepEqual(values(), [3]);
});

test('a statement that comes after SQLite has rolled back is refused: it would count by itself', async (t) => {
  const { transactions, values, note } = opened();
  const failing = transactions.execute((run) =>
    run(async (db) => {
      await note(1)(db);
      // As after a full disk.
      await t.throwsAsync(sql`insert or rollback into noted values (1)`.execute(db), { message: /^UNIQUE/ });
      await note(2)(db);
    }),
  );
  await t.throwsAsync(failing, { message: 'the transaction is over' });
  await transactions.execute((run) => run(note(3)));
  t.deepEqual(values(), [3]);
});
