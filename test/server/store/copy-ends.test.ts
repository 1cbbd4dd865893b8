import { chmodSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteTarget } from '@signet/server/store/sqlite/copy-ends';
import test from 'ava';
import Database from 'better-sqlite3';
import { temporaryFolder } from '#support/temp';

/* What a copy that was killed leaves where it was to be. */

test('a file whose first change was cut off is copied into', async (t) => {
  const folder = temporaryFolder(t);
  const [file, killed] = [join(folder, 'new.db'), join(folder, 'killed.db')];
  const database = new Database(file);
  // What does not fit is written into the file before the end, with what was there in a journal.
  database.pragma('cache_size = 1');
  database.exec(
    'begin; create table half (text); insert into half select hex(zeroblob(100000)) from (values (1), (2))',
  );
  for (const suffix of ['', '-journal']) {
    copyFileSync(`${file}${suffix}`, `${killed}${suffix}`);
    chmodSync(`${killed}${suffix}`, 0o600);
  }
  database.close();
  t.true(statSync(killed).size > 0);

  const target = await openSqliteTarget(killed);
  t.teardown(() => target.close());
  t.false(await target.snapshot((db) => target.isMarked(db)));
  t.deepEqual(await target.snapshot((db) => db.selectFrom('domains').selectAll().execute()), []);
});
