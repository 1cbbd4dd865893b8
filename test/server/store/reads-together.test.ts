import type { Schema } from '@signet/server/store/database-schema';
import { guardDatabase } from '@signet/server/store/guarded-database';
import type { StoreDatabase } from '@signet/server/store/store-database';
import test from 'ava';
import type { Kysely } from 'kysely';

/** A database of which only reads are asked; counts how often it is asked to start some. */
function reading(startReads: StoreDatabase['startReads']) {
  const database = { startReads, translate: (error: unknown) => error };
  return guardDatabase(database as unknown as StoreDatabase);
}

test('what one turn of the event loop asks for is read together; each has its own answer', async (t) => {
  let starts = 0;
  const database = reading(async (start) => {
    starts += 1;
    start({} as Kysely<Schema>);
  });
  const refused = new Error('refused');
  const thrown = new Error('thrown at once');
  const answers = await Promise.allSettled([
    database.read(async () => 1),
    database.read(() => {
      throw thrown;
    }),
    database.read(async () => Promise.reject(refused)),
    database.read(async () => 2),
  ]);
  t.is(starts, 1);
  t.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason)),
    [1, thrown, refused, 2],
  );
  t.is(await database.read(async () => 3), 3);
  t.is(starts, 2);
});

test('a database that is gone refuses all of them', async (t) => {
  const gone = new Error('gone');
  const database = reading(async () => Promise.reject(gone));
  const answers = await Promise.allSettled([database.read(async () => 1), database.read(async () => 2)]);
  t.deepEqual(
    answers.map((answer) => answer.status === 'rejected' && answer.reason),
    [gone, gone],
  );
});
