import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { ConflictError, StoreUnavailableError } from '@signet/server/errors';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import type { Store } from '@signet/server/model/store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { plainRecord } from '#support/plain-domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

const sealKey = Buffer.alloc(32, 7);

const save = (store: Store, name: string) =>
  store.change({ actor: 'local:jane' }, (change) => saveDomain(change, plainRecord({ name, roles: { r: [] } }, 0)));

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
  const digest = await backUpStore(file, backup, sealKey);
  t.is(statSync(backup).mode & 0o777, 0o600);
  t.is(digest, (await checkStore(file)).digest);
  await save(store, 'three');
  t.not(digest, (await checkStore(file)).digest);
  await t.throwsAsync(backUpStore(file, backup, sealKey), { instanceOf: ConflictError });
});

test('a backup under changes is the store at one instant', async (t) => {
  const { file, store, backup } = await openWorld(t);
  const changes = Array.from({ length: 40 }, (_, index) => save(store, `more${index}`));
  await changes[5];
  await backUpStore(file, backup, sealKey);
  await Promise.all(changes);
  const { counter, domains, auditRecords, faults } = await checkStore(backup);
  t.deepEqual(faults, []);
  t.deepEqual([counter, auditRecords], [domains, domains]);
});

test('a store whose place cannot be written refuses its backup, with nothing left behind', async (t) => {
  const { folder, file } = await openWorld(t);
  await t.throwsAsync(backUpStore(file, join(folder, 'none', 'backup'), sealKey), {
    instanceOf: StoreUnavailableError,
  });
  if (process.getuid?.() === 0) return;
  const closed = temporaryFolder(t);
  chmodSync(closed, 0o500);
  await t.throwsAsync(backUpStore(file, join(closed, 'backup'), sealKey), { instanceOf: StoreUnavailableError });
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

test('check finds no fault where something was recorded after the newest change, and one where the feed names no record', async (t) => {
  const { file, store, backup } = await openWorld(t);
  await store.change({ actor: 'test' }, (change) => change.noteRefusedCredentials({ expired: 1 }));
  await store.change({ actor: 'test' }, (change) => change.noteRefusedCredentials({ expired: 2 }));
  t.deepEqual((await checkStore(file)).faults, []);
  await backUpStore(file, backup, sealKey);
  t.deepEqual((await checkStore(backup)).faults, []);
  await store.close();
  const database = new Database(file);
  database.exec(`update changes set key = '${'0'.repeat(64)}' where kind = 'head'`);
  database.close();
  t.deepEqual((await checkStore(file)).faults, ['the change feed does not end at the newest change']);
});

test('check finds a public key that cannot be read', async (t) => {
  const { file, store } = await openWorld(t);
  await store.change({ actor: 'test' }, (change) =>
    saveDomain(change, {
      ...domainContent('keyed', { services: ['api'] }),
      services: [
        {
          name: parseServiceName('api'),
          enabled: true,
          hosts: [],
          publicKeys: [{ id: parseKeyId('v1'), pem: 'no key' }],
        },
      ],
    }),
  );
  await store.close();
  t.deepEqual((await checkStore(file)).faults, ['public key `v1` of service `keyed.api` cannot be read']);
});

test('check finds a signing key in the name of another, and names domains that are reserved', async (t) => {
  const { file, store } = await openWorld(t);
  const own = newSigningKey('token', 0, 0).record;
  const foreign = { ...own, publicJwk: { ...newSigningKey('token', 0, 0).record.publicJwk, kid: own.kid } };
  await store.change({ actor: 'test' }, (change) => change.addSigningKey(newSigningKey('bundle', 0, 0).record));
  t.deepEqual((await checkStore(file)).faults, []);
  await store.change({ actor: 'test' }, (change) => change.addSigningKey(foreign));
  await save(store, 'user.a');
  const { faults, notes } = await checkStore(file);
  const fault = `the public half of signing key \`${own.kid}\` is that of another key`;
  t.deepEqual(faults, [fault]);
  t.true(notes.includes('domain `user.a` has a name that is reserved for users: delete it'));
  const opening = openLiveSnapshot({ store, clock: { now: () => 0 }, refreshIntervalMs: 60_000 });
  await t.throwsAsync(opening, { instanceOf: ConflictError, message: new RegExp(fault) });
});

test('check finds a list whose members were changed without their number', async (t) => {
  const { file, store } = await openWorld(t);
  await store.close();
  const database = new Database(file);
  database.exec("update roles set member_count = member_count + 1 where domain = 'one'");
  database.close();
  t.deepEqual((await checkStore(file)).faults, [
    '`one:role.r` has a number of members that differs from the stored count',
  ]);
});

test('check finds a backup that was changed', async (t) => {
  const { file, backup } = await openWorld(t);
  await backUpStore(file, backup, sealKey);
  t.like(await checkStore(backup, sealKey), { faults: [], seal: 'valid' });
  t.like(await checkStore(backup, Buffer.alloc(32, 8)), { faults: [], seal: 'other-key' });
  const database = new Database(backup);
  database.exec("update domains set description = 'x'");
  database.close();
  t.deepEqual((await checkStore(backup)).faults, ['it was changed after the backup was created']);
});
