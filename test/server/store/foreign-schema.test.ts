import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { StoreRefusedError } from '@signet/server/errors';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { sealBackup } from '@signet/server/store/sqlite/backup-seal';
import { checkStore } from '@signet/server/store/sqlite/check';
import { knownSchemas } from '@signet/server/store/sqlite/known-schema';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import { ensureSealKey, readSealKey, sealKeyName } from '@signet/server/store/sqlite/seal-key';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* A writer of backups, or of the place where they are kept, must not become an operator by a restore. */

const clock = new FakeClock();
const sealKey = Buffer.alloc(32, 7);
const by = { clock, context: { actor: 'local:jane' }, proof: { sealKey } };

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const [file, backup] = [join(folder, 'signet.db'), join(folder, 'backup')];
  const store = await openSqliteStore(file, { clock });
  const roles = { admin: ['sys.auth.operator'] };
  await store.change({ actor: 'local:jane' }, (change) => saveDomain(change, domainContent('sys.auth', { roles })));
  await store.close();
  const digest = await backUpStore(file, backup, sealKey);
  return { folder, file, backup, digest };
}

function alter(file: string, sql: string, unsafe = false): void {
  const database = new Database(file);
  if (unsafe) database.unsafeMode(true).pragma('writable_schema = ON');
  database.exec(sql);
  database.close();
}

const makeEvilAdmin = `insert into members (domain, kind, list, member, disabled) values ('sys.auth', 'role', 'admin', 'evil.one', 0);
  update roles set member_count = member_count + 1 where domain = 'sys.auth' and name = 'admin';`;

/** Makes whoever it names a member when the restore writes its own audit record. */
const trigger = `create trigger evil after insert on audit begin ${makeEvilAdmin} end`;

const admins = (file: string) => {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare("select member from members where domain = 'sys.auth'").pluck().all();
  database.close();
  return rows;
};

const alterations: readonly (readonly [note: string, sql: string, said: RegExp, unsafe?: boolean])[] = [
  ['a trigger', trigger, /holds trigger evil, which no version of this program makes/],
  [
    'a trigger that a start sets off',
    `create trigger evil before insert on meta begin ${makeEvilAdmin} end`,
    /holds trigger evil, which no version of this program makes/,
  ],
  ['a view', 'create view evil as select * from roles', /holds view evil, /],
  ['a table', 'create table evil (x)', /holds table evil, /],
  ['an index', 'create index evil on roles (trust, name)', /holds index evil, /],
  ['a table that looks like one of SQLite', 'create table sqlitexevil (x)', /holds table sqlitexevil, /],
  ['statistics', 'analyze', /holds table sqlite_stat/],
  ['a further column', 'alter table roles add column evil text', /has another definition of table roles: /],
  [
    'a generated column',
    "alter table members add column evil text generated always as ('x') virtual",
    /has another definition of table members: /,
  ],
  [
    'an altered default',
    "update sqlite_schema set sql = replace(sql, 'default 0', 'default 1') where name = 'roles'",
    /has another definition of table roles: /,
    true,
  ],
  [
    'an index over other rows',
    `drop index roles_by_trust; create index roles_by_trust on roles (trust) where trust = 'x'`,
    /has another definition of index roles_by_trust: /,
  ],
  ['an index missing', 'drop index roles_by_trust', /lacks index roles_by_trust: /],
  ['a user version', 'pragma user_version = 7', /has another user_version than `0`: /],
  ['an application id', 'pragma application_id = 7', /has another application_id than `0`: /],
];
for (const [note, sql, said, unsafe] of alterations) {
  test(`${note}: the store is not opened, and its backup not restored, whoever sealed it`, async (t) => {
    const { folder, file, backup, digest: printed } = await openWorld(t);
    alter(backup, sql, unsafe);
    const database = new Database(backup);
    const digest = sealBackup(database, sealKey);
    database.close();
    const refused = { instanceOf: StoreRefusedError, message: said };
    const [kept, names] = [readFileSync(file), readdirSync(folder)];
    const proofs = [{ sealKey }, { digest }, { digest: printed }];
    for (const proof of proofs) {
      const error = await t.throwsAsync(restoreStore(file, backup, { ...by, proof }), refused);
      t.regex(error?.message ?? '', /^backup `[^`]*\/backup` /);
      t.like(error, { exitStatus: 78, reason: 'foreign-schema' });
    }
    t.true(readFileSync(file).equals(kept));
    t.deepEqual(readdirSync(folder), names);

    alter(file, sql, unsafe);
    for (const readonly of [true, false]) await t.throwsAsync(openSqliteStore(file, { readonly }), refused);
    await t.throwsAsync(checkStore(file), refused);
    await t.throwsAsync(backUpStore(file, join(folder, 'second'), sealKey), refused);
    t.deepEqual(admins(file), ['sys.auth.operator']);
  });
}

const notText: readonly (readonly [what: string, sql: string, said: RegExp])[] = [
  [
    'definition',
    "update sqlite_schema set sql = cast(sql as blob) where name = 'roles' and type = 'table'",
    /has another definition of table roles: /,
  ],
  [
    'name',
    "update sqlite_schema set name = cast(name as blob) where name = 'roles_by_trust'",
    /holds index \(not a string\), /,
  ],
];
for (const [what, sql, said] of notText) {
  test(`a ${what} that is not a string is refused as any other that no version makes`, async (t) => {
    const { file, backup } = await openWorld(t);
    for (const each of [file, backup]) alter(each, sql, true);
    const refused = { instanceOf: StoreRefusedError, message: said };
    await t.throwsAsync(openSqliteStore(file), refused);
    await t.throwsAsync(checkStore(backup), refused);
    await t.throwsAsync(restoreStore(file, backup, by), refused);
  });
}

test('a trigger that comes with another file while the store is served is refused', async (t) => {
  const { file, backup } = await openWorld(t);
  const store = await openSqliteStore(backup, { clock });
  t.teardown(() => store.close());
  alter(file, trigger);
  copyFileSync(file, `${backup}.next`);
  renameSync(`${backup}.next`, backup);
  const change = store.change({ actor: 'x' }, (transaction) => saveDomain(transaction, domainContent('media')));
  await t.throwsAsync(change, { message: /holds trigger evil/ });
  t.deepEqual(admins(backup), ['sys.auth.operator']);
});

test('a store that holds a trigger gives way to a good backup, and its revocations are kept', async (t) => {
  const { file, backup, digest } = await openWorld(t);
  alter(file, trigger);
  t.like(await restoreStore(file, backup, by), { digest, kept: { lost: [] } });
  t.deepEqual(admins(file), ['sys.auth.operator']);
  t.deepEqual((await checkStore(file)).faults, []);
});

test('a store whose tables were redefined gives way to a good backup, with nothing read from it', async (t) => {
  const { file, backup } = await openWorld(t);
  alter(file, 'alter table instances add column evil text');
  const restored = await restoreStore(file, backup, by);
  t.is(restored.kept, undefined);
  t.deepEqual((await checkStore(file)).faults, []);
});

test('a changed row with a digest made again is refused: only the key makes a seal', async (t) => {
  const { file, backup, digest } = await openWorld(t);
  const add = `insert into members (domain, kind, list, member, disabled) values ('sys.auth', 'role', 'admin', 'evil.one', 0);
    update roles set member_count = 2 where domain = 'sys.auth'`;
  const changed = /^backup `.*` was changed after it was created$/;
  alter(backup, add);
  await t.throwsAsync(restoreStore(file, backup, by), { message: changed });
  t.like(await checkStore(backup, sealKey), {
    faults: ['it was changed after the backup was created'],
    seal: 'broken',
  });
  const { digest: next } = await checkStore(backup);
  t.not(next, digest);

  alter(backup, `update backup_seal set digest = '${next}'`);
  await t.throwsAsync(restoreStore(file, backup, by), { message: changed });
  alter(backup, "update backup_seal set key_id = 'another'");
  await t.throwsAsync(restoreStore(file, backup, by), {
    message: /was sealed with a key that is not on this machine: use `--digest`/,
  });
  alter(backup, 'drop table backup_seal');
  await t.throwsAsync(restoreStore(file, backup, by), { message: /has no seal: use `--digest`/ });
  alter(backup, `create table backup_seal (digest text not null); insert into backup_seal values ('${next}')`);
  await t.throwsAsync(restoreStore(file, backup, by), { message: /has no seal: use `--digest`/ });
  await t.throwsAsync(restoreStore(file, backup, { ...by, proof: { digest } }), { message: /has another digest/ });
  t.deepEqual(admins(file), ['sys.auth.operator']);
});

test('another machine takes a backup with the key of the seal, or by its digest', async (t) => {
  const { folder, backup, digest } = await openWorld(t);
  const restore = (proof: { sealKey: Buffer | undefined } | { digest: string }) =>
    restoreStore(join(folder, 'new.db'), backup, { ...by, proof });
  const refused = { instanceOf: StoreRefusedError, message: /with a key that is not on this machine/ };
  await t.throwsAsync(restore({ sealKey: undefined }), refused);
  await t.throwsAsync(restore({ sealKey: Buffer.alloc(32, 8) }), refused);
  t.is((await restore({ digest: digest.toUpperCase() })).digest, digest);
  t.is((await restore({ sealKey })).digest, digest);
});

test('changes beside a backup are not overlooked', async (t) => {
  const { file, backup } = await openWorld(t);
  const store = await openSqliteStore(backup, { clock });
  await store.change({ actor: 'x' }, (change) => change.deleteDomain(parseDomainName('sys.auth')));
  t.true(statSync(`${backup}-wal`).size > 0);
  await t.throwsAsync(restoreStore(file, backup, by), {
    message: /is incomplete: some of its changes are in `.*-wal`$/,
  });
  await store.close();
});

test('what somebody put beside the copy of a restore is no part of it', async (t) => {
  const { file, backup, digest } = await openWorld(t);
  for (const suffix of ['', '-wal', '-journal']) writeFileSync(`${file}.restore-${process.pid}${suffix}`, 'hello');
  t.is((await restoreStore(file, backup, by)).digest, digest);
  t.deepEqual((await checkStore(file)).faults, []);
});

const differences: readonly (readonly [note: string, before: string, after: string])[] = [
  ['an integer that no number holds exactly', '9007199254740992', '9007199254740993'],
  ['the epoch', '1', '2'],
];
for (const [note, before, after] of differences) {
  test(`the digest covers ${note}`, async (t) => {
    const { backup } = await openWorld(t);
    const digestWith = async (value: string) => {
      alter(backup, `update meta set epoch = ${value}`);
      const database = new Database(backup);
      const digest = sealBackup(database, sealKey);
      database.close();
      return digest;
    };
    t.not(await digestWith(before), await digestWith(after));
  });
}

test('the key of the seal is made once, whole, for its owner alone', (t) => {
  const file = join(temporaryFolder(t), 'keys', sealKeyName);
  t.is(readSealKey(file), undefined);
  const key = ensureSealKey(file);
  t.is(key.length, 32);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.true(ensureSealKey(file).equals(key));
  t.deepEqual(readdirSync(join(file, '..')), [sealKeyName]);
  writeFileSync(file, 'short');
  t.throws(() => ensureSealKey(file), { instanceOf: StoreRefusedError, message: /is not 32 bytes in hex$/ });
});

test('the text of released steps is the one that stores hold: another would lock everybody out', async (t) => {
  const schemas = knownSchemas();
  const released = [...(schemas[7] ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(released)).digest('hex');
  t.is(digest, 'a8a499266a8f6483e3bfccf2cad2600f78f886f704e2d3359b52a261dc112500');
});
