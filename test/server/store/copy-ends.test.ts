import { chmodSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { copyStore } from '@signet/server/store/copy-store';
import { openStore } from '@signet/server/store/open';
import { openSqliteTarget } from '@signet/server/store/sqlite/copy-ends';
import test from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { storeKinds } from '#support/store-kinds';
import { temporaryFolder } from '#support/temp';

/* Remains of a copy that was killed. */

test('a file whose first change was cut off is copied into', async (t) => {
  const folder = temporaryFolder(t);
  const [file, killed] = [join(folder, 'new.db'), join(folder, 'killed.db')];
  const database = new Database(file);
  // Rows beyond the cache are written into the file before the end, with their former content in a journal.
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
  t.true(await target.snapshot((db) => target.isMarked(db)));
  t.deepEqual(await target.snapshot((db) => db.selectFrom('domains').selectAll().execute()), []);
});

const refused = { name: 'StoreRefusedError', message: /is a partial copy of another one/ };

for (const kind of storeKinds) {
  test(`${kind.name}: a copy that ends before its first row is marked: no server takes it for an empty store`, async (t) => {
    const from = { kind: 'sqlite', file: join(temporaryFolder(t), 'source.db') } as const;
    const source = await openStore(from);
    await source.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('catalog')));
    await source.close();
    const to = await kind.empty(t);
    const onProgress = () => {
      throw new Error('killed');
    };
    const options = { resume: false, whileRunning: false };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await t.throwsAsync(copyStore(from, to, { ...options, onProgress }), { message: 'killed' });
      await t.throwsAsync(openStore(to), refused);
    }
    t.is((await copyStore(from, to, options)).began, 'new', 'nothing of it was there');
    const copy = await openStore(to);
    t.deepEqual((await copy.domainNames()).map(String), ['catalog']);
    await copy.close();
  });
}

test('a file that holds the mark of a copy alone is copied into, and is no store', async (t) => {
  const file = join(temporaryFolder(t), 'killed.db');
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.exec('create table copy_mark (source text not null, digest text not null, last text)');
  database.close();
  chmodSync(file, 0o600);
  await t.throwsAsync(openStore({ kind: 'sqlite', file }), refused);
  const target = await openSqliteTarget(file);
  t.teardown(() => target.close());
  t.deepEqual(await target.snapshot((db) => db.selectFrom('domains').selectAll().execute()), []);
});
