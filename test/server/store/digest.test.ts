import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { StoreRefusedError } from '@signet/server/errors';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { digestOfStore, earlierDigestOfStore } from '@signet/server/store/sqlite/digest';
import { emptyStore } from '@signet/server/store/sqlite/empty-store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import test from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

/* The digest that a backup is sealed with, and the one of backups that were made before 0.2. */

const sealKey = Buffer.alloc(32, 7);
const clock = new FakeClock();
const context = { actor: 'local:jane', reason: 'disk lost' };

test('both forms of the digest stay what they are', (t) => {
  const database = new Database(':memory:');
  database.exec(`
    create table t (z text primary key not null, a integer, n text) without rowid;
    create table u (one text, two real);
    insert into t values ('x', 2, null), ('y', 1, 'q'), ('z', 9007199254740993, '7');
    insert into u values ('b', 1.5), ('a', 2);
  `);
  t.is(digestOfStore(database), '70f2fdf16a20e985624928b3757ef414970d8eb7bd2c7c23588ed24d3e609c4a');
  t.is(earlierDigestOfStore(database), 'a8ed2206ce7c890f675d7ec618ba7359a5a587b95c6bd73a07567a3842a27a6e');
  database.close();
});

test('no row of a store is held back to sort it', async (t) => {
  const store = await emptyStore();
  const asked: string[] = [];
  const database = new Database(store.serialize(), { verbose: (text) => asked.push(String(text)) });
  digestOfStore(database);
  const ofRows = asked.filter((text) => text.includes('order by') && !/sqlite_schema|pragma_/.test(text));
  t.true(ofRows.length > 20, `${ofRows.length} tables`);
  for (const text of ofRows) {
    const plan = store.prepare(`explain query plan ${text}`).all();
    t.notRegex(JSON.stringify(plan), /TEMP B-TREE/, text);
  }
  database.close();
  store.close();
});

/** A backup as it was sealed before: in the other form, which the answer is. */
async function earlierBackup(file: string, backup: string): Promise<string> {
  const store = await openSqliteStore(file, { clock });
  await store.close();
  await backUpStore(file, backup, sealKey);
  const database = new Database(backup);
  const digest = earlierDigestOfStore(database);
  const mac = createHmac('sha256', sealKey).update(`signet backup seal\0${digest}`).digest('hex');
  database.prepare('update backup_seal set digest = ?, mac = ?').run(digest, mac);
  database.close();
  return digest;
}

test('a backup that was sealed in the earlier form is one still', async (t) => {
  const folder = temporaryFolder(t);
  const [file, backup] = [join(folder, 'signet.db'), join(folder, 'backup')];
  const digest = await earlierBackup(file, backup);
  const checked = await checkStore(backup, sealKey);
  t.like(checked, { seal: 'valid', digest }, 'what was noted when it was made is what the check tells');
  t.like(await checkStore(backup), { seal: 'other-key', digest });

  t.is((await restoreStore(file, backup, { clock, context, proof: { sealKey } })).digest, digest);
  for (const known of [digest, (await checkStore(backup)).digest, digest.toUpperCase()]) {
    t.is((await restoreStore(file, backup, { clock, context, proof: { digest: known } })).digest, digest);
  }
  const database = new Database(backup);
  const now = digestOfStore(database);
  t.not(now, digest);
  t.is((await restoreStore(file, backup, { clock, context, proof: { digest: now } })).digest, digest);

  database.exec("update meta set paging_secret = 'another'");
  database.close();
  t.like(await checkStore(backup, sealKey), { seal: 'broken' });
  const refused = { instanceOf: StoreRefusedError };
  await t.throwsAsync(restoreStore(file, backup, { clock, context, proof: { sealKey } }), {
    ...refused,
    message: /was changed after it was created$/,
  });
  for (const known of [digest, now]) {
    await t.throwsAsync(restoreStore(file, backup, { clock, context, proof: { digest: known } }), {
      ...refused,
      message: /has another digest/,
    });
  }
});
