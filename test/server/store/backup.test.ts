import { chmodSync, existsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { ConflictError, StoreRefusedError, StoreUnavailableError } from '@signet/server/errors';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import type { Store } from '@signet/server/store/store';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { plainRecord } from '#support/plain-domains';
import { temporaryFolder } from '#support/temp';

const by = { clock: systemClock, context: { actor: 'local:jane', reason: 'disk lost' } };

const save = (store: Store, name: string) =>
  store.change({ actor: 'local:jane' }, (change) => change.saveDomain(plainRecord({ name, roles: { r: [] } }, 0)));

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  await save(store, 'one');
  await save(store, 'two');
  return { folder, file, store, backup: join(folder, 'backup') };
}

test('a backup of a store in use has every row, and only its owner reads it', async (t) => {
  const { file, store, backup } = await openWorld(t);
  const digest = backUpStore(file, backup);
  t.is(statSync(backup).mode & 0o777, 0o600);
  t.is(digest, (await checkStore(file)).digest);
  await save(store, 'three');
  t.not(digest, (await checkStore(file)).digest);
  t.throws(() => backUpStore(file, backup), { instanceOf: ConflictError });
});

test('a backup under changes is the store at one instant', async (t) => {
  const { file, store, backup } = await openWorld(t);
  const changes = Array.from({ length: 40 }, (_, index) => save(store, `more${index}`));
  await changes[5];
  backUpStore(file, backup);
  await Promise.all(changes);
  const { counter, domains, auditRecords, faults } = await checkStore(backup);
  t.deepEqual(faults, []);
  t.deepEqual([counter, auditRecords], [domains, domains]);
});

test('a restore brings the rows back under a new epoch, and says so in the log', async (t) => {
  const { file, store, backup } = await openWorld(t);
  const digest = backUpStore(file, backup);
  await save(store, 'three');
  await store.close();
  const restored = await restoreStore(file, backup, by);
  t.deepEqual(restored, { digest, epoch: 2 });
  t.false(existsSync(`${file}-wal`));
  const again = await openSqliteStore(file);
  t.teardown(() => again.close());
  const { state, domains } = await again.changesSince();
  t.deepEqual([state, domains.map(({ name }) => String(name))], [{ epoch: 2, counter: 3 }, ['one', 'two']]);
  const [newest] = await again.audit({ limit: 1 });
  t.like(newest, { actor: 'local:jane', action: 'restore', reason: 'disk lost' });
  t.deepEqual((await checkStore(file)).faults, []);
  await again.close();
  t.is((await restoreStore(file, backup, by)).epoch, 3);
});

test('join tokens are spent and numbers of revocation lists go on after a restore', async (t) => {
  const { file, store, backup } = await openWorld(t);
  await store.certificates.nextCrlNumber('ca');
  const database = new Database(file);
  database.exec("insert into join_tokens values ('d', 'p', 'm', 's', 'i', 9999999999, 'x', null)");
  database.close();
  backUpStore(file, backup);
  await store.certificates.nextCrlNumber('ca');
  await store.close();
  await restoreStore(file, backup, by);
  const again = await openSqliteStore(file);
  t.teardown(() => again.close());
  t.true((await again.certificates.nextCrlNumber('ca')) > 2);
  const after = new Database(file, { readonly: true });
  t.deepEqual(after.prepare('select count(*) as open from join_tokens where spent_at is null').get(), { open: 0 });
  after.close();
});

test('a restore is refused while a server has the store open; nothing changes', async (t) => {
  const { file, store, backup } = await openWorld(t);
  backUpStore(file, backup);
  await save(store, 'three');
  await t.throwsAsync(restoreStore(file, backup, by), {
    instanceOf: StoreUnavailableError,
    message: 'the store is in use: stop its servers first',
  });
  t.is((await store.domainNames()).length, 3);
});

const bad: readonly (readonly [note: string, make: (backup: string) => void])[] = [
  ['nothing', () => undefined],
  ['no database', (backup) => writeFileSync(backup, 'hello')],
  [
    'half of one',
    (backup) => {
      writeFileSync(backup, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(40)]));
      truncateSync(backup, 50);
    },
  ],
];
for (const [note, make] of bad) {
  test(`a backup that is ${note} is refused, and the store stays`, async (t) => {
    const { file, store, backup } = await openWorld(t);
    await store.close();
    const { digest } = await checkStore(file);
    make(backup);
    await t.throwsAsync(restoreStore(file, backup, by), { instanceOf: StoreRefusedError });
    t.is((await checkStore(file)).digest, digest);
  });
}

test('a store whose place cannot be written refuses its backup, with nothing left behind', async (t) => {
  const { folder, file } = await openWorld(t);
  t.throws(() => backUpStore(file, join(folder, 'none', 'backup')), { instanceOf: StoreUnavailableError });
  if (process.getuid?.() === 0) return;
  const closed = temporaryFolder(t);
  chmodSync(closed, 0o500);
  t.throws(() => backUpStore(file, join(closed, 'backup')), { instanceOf: StoreUnavailableError });
  chmodSync(closed, 0o700);
});

test('check finds a changed row of the log and a domain that cannot be used', async (t) => {
  const { file, store } = await openWorld(t);
  await store.close();
  const database = new Database(file);
  database.exec("update audit set actor = 'x' where id = 1");
  database.close();
  t.deepEqual((await checkStore(file)).faults.length, 1);
});
