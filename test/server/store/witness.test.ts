import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import {
  ConflictError,
  StoreRefusedError,
  StoreUnavailableError,
  UnacknowledgedChangeError,
} from '@signet/server/errors';
import type { Store } from '@signet/server/model/store';
import { guardDatabase } from '@signet/server/store/guarded-database';
import { acceptLoss } from '@signet/server/store/sqlite/accept-loss';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { mergeLog } from '@signet/server/store/sqlite/merge-log';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import { createWitness, readWitness, WitnessWriter } from '@signet/server/store/sqlite/witness';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { publishNextCrl } from '#support/crl-store';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'test' };
const save = (store: Store, name: string) => store.change(by, (change) => saveDomain(change, domainContent(name)));
const sealKey = Buffer.alloc(32, 7);
const restoring = { clock: systemClock, context: by, proof: { sealKey } };

/** The files of a store in use, as a kill or a power failure leaves them. */
interface Left {
  readonly file: string;
  /** The files again, under another name. */
  again(name: string): string;
}

/** A store with `names`, whose log holds all but the first. */
async function killedStore(t: ExecutionContext, ...names: readonly string[]): Promise<Left> {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const [first = 'a', ...more] = names;
  const before = await openSqliteStore(file);
  await save(before, first);
  await before.close();
  const store = await openSqliteStore(file);
  for (const name of more) await save(store, name);
  const left = join(folder, 'left.db');
  const suffixes = ['', '-wal', '.witness'];
  for (const suffix of suffixes) copyFileSync(`${file}${suffix}`, `${left}${suffix}`);
  await store.close();
  return {
    file: left,
    again: (name) => {
      for (const suffix of suffixes) copyFileSync(`${left}${suffix}`, join(folder, `${name}${suffix}`));
      return join(folder, name);
    },
  };
}

const isBehind = { instanceOf: StoreRefusedError, message: /has lost changes.*`signet store accept-loss`$/ };

test('a log that was removed, cut off or garbled: the store is refused, or has everything', async (t) => {
  const { file, again } = await killedStore(t, 'a', 'b', 'c');
  const log = readFileSync(`${file}-wal`);
  const frame = 4096 + 24;
  let whole = 0;
  const cuts = Array.from({ length: Math.floor((log.length - 32) / frame) + 1 }, (_, n) => 32 + n * frame);
  for (const [n, cut] of [0, 10, ...cuts, log.length - 1].entries()) {
    const damaged = again(`cut${n}`);
    truncateSync(`${damaged}-wal`, cut);
    const opened = await openSqliteStore(damaged).catch((error: unknown) => error);
    if (cut < log.length) {
      t.true(opened instanceof StoreRefusedError && opened.reason === 'behind', `cut at ${cut}: ${opened}`);
      t.true(existsSync(`${damaged}-wal`), 'what is left of the log was removed');
    } else {
      whole += 1;
      t.deepEqual((await (opened as Store).domainNames()).map(String), ['a', 'b', 'c']);
      await (opened as Store).close();
    }
  }
  t.true(whole > 0);
  const garbled = again('garbled');
  writeFileSync(`${garbled}-wal`, log.fill(7, log.length - 2000, log.length - 1990));
  await t.throwsAsync(openSqliteStore(garbled), isBehind);
  for (const readonly of [true, false]) {
    const removed = again(`removed${readonly}`);
    rmSync(`${removed}-wal`);
    await t.throwsAsync(openSqliteStore(removed, { readonly }), isBehind);
    const { faults } = await checkStore(removed);
    t.regex(faults.join(), /it is at change 1 \(epoch 1\), and change 3 \(epoch 1\) was acknowledged/);
  }
});

test('every change moves the witness before it is acknowledged, and what is only intended does not', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  const said = () => {
    const witness = readWitness(file);
    return typeof witness === 'string' ? witness : witness.sequence;
  };
  t.is(said(), 0);
  await save(store, 'a');
  t.is(said(), 1);
  await save(store, 'a');
  t.is(said(), 1, 'nothing was changed');
  const row = { serial: '1', issuer: 'x', kind: 'role', subject: 'a:role.b', holder: 'a.b', notBefore: 1, notAfter: 2 };
  await store.certificates.intend(row as Parameters<typeof store.certificates.intend>[0], 1);
  t.is(said(), 1, 'a certificate that does not exist yet');
  await store.certificates.confirm('1', 'print');
  t.is(said(), 3);
  await publishNextCrl(store.certificates, 'x');
  t.is(said(), 4);
  const other = await openSqliteStore(file);
  for (let n = 0; n < 5; n += 1) await Promise.all([save(store, `b${n}`), save(other, `c${n}`)]);
  t.is(said(), 14);
  await other.close();
});

test('a place of the witness that was cut off leaves the one before; none that can be read is refused', async (t) => {
  const { file, again } = await killedStore(t, 'a', 'b', 'c');
  const damage = (target: string, ...places: readonly number[]) => {
    const bytes = readFileSync(`${target}.witness`);
    for (const place of places) bytes.fill('x', place * 4096 + 5, place * 4096 + 9);
    writeFileSync(`${target}.witness`, bytes);
  };
  const [lost, missing, gone] = [again('lost'), again('missing'), again('gone')];
  damage(file, 3);
  t.like(readWitness(file), { sequence: 2 });
  const store = await openSqliteStore(file);
  await save(store, 'd');
  await store.close();
  t.like(readWitness(file), { sequence: 4 });
  damage(lost, ...Array(16).keys());
  t.is(readWitness(lost), 'unreadable');
  await t.throwsAsync(openSqliteStore(lost), { instanceOf: StoreRefusedError, message: /its witness `.*` is damaged/ });
  rmSync(`${missing}.witness`);
  await t.throwsAsync(openSqliteStore(missing), {
    instanceOf: StoreRefusedError,
    message: /its witness `.*` is missing/,
  });
  rmSync(gone);
  await t.throwsAsync(openSqliteStore(gone), {
    instanceOf: StoreRefusedError,
    message: /is missing, but its witness exists/,
  });
  t.false(existsSync(gone));
});

test('a witness that was removed while the store is open is there again with the next change', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  await save(store, 'a');
  rmSync(`${file}.witness`);
  await save(store, 'b');
  t.like(readWitness(file), { sequence: 2 });
  await save(store, 'c');
  t.like(readWitness(file), { sequence: 3 });
  t.is(statSync(`${file}.witness`).mode & 0o777, 0o600);
  await store.close();
});

test('a process that comes late with its witness, or makes the file again, takes nothing back', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const position = (sequence: number) => ({ epoch: 1, sequence, head: '' });
  createWitness(file, position(1));
  const [late, other] = [new WitnessWriter(file), new WitnessWriter(file)];
  for (let sequence = 6; sequence <= 21; sequence += 1) other.write(position(sequence));
  // The same place as 21.
  late.write(position(5));
  t.like(readWitness(file), { sequence: 21 });
  for (const remove of [() => rmSync(`${file}.witness`), () => renameSync(`${file}.witness`, `${file}.elsewhere`)]) {
    remove();
    other.write(position(40));
    late.write(position(39));
    t.like(readWitness(file), { sequence: 40 });
  }
  for (const writer of [late, other]) writer.close();
});

test('the log is removed while the store is open: nothing is acknowledged on it, and nothing is lost', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  const other = await openSqliteStore(file);
  for (const each of [store, other]) await save(each, each === store ? 'a' : 'b');
  let asked = 0;
  const change = store.change(by, async (transaction) => {
    await saveDomain(transaction, domainContent('c'));
    asked += 1;
    if (asked === 1) for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`);
  });
  await t.throwsAsync(change, { instanceOf: UnacknowledgedChangeError, message: /log of the store was removed/ });
  t.is(asked, 1);
  await save(store, 'd');
  await save(other, 'e');
  for (const each of [store, other]) {
    t.deepEqual((await each.domainNames()).map(String), ['a', 'b', 'c', 'd', 'e']);
    await each.close();
  }
  t.deepEqual((await checkStore(file)).faults, []);
});

test('the log is removed while a change waits for the lock: the change does not begin', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  const other = await openSqliteStore(file);
  for (const each of [store, other]) await save(each, each === store ? 'a' : 'b');
  let runs = 0;
  let waiting: Promise<unknown> | undefined;
  const holding = other.change(by, async (transaction) => {
    await saveDomain(transaction, domainContent('c'));
    waiting = store.change(by, async () => {
      runs += 1;
    });
    waiting.catch(() => undefined);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`);
  });
  await t.throwsAsync(holding, { instanceOf: UnacknowledgedChangeError });
  await t.throwsAsync(async () => await waiting, {
    instanceOf: StoreUnavailableError,
    message: /log of the store was removed/,
  });
  t.is(runs, 0, 'it would write to a log that nobody else reads');
  await save(store, 'd');
  await other.close();
  t.deepEqual((await store.domainNames()).map(String), ['a', 'b', 'c', 'd']);
  await store.close();
  t.deepEqual((await checkStore(file)).faults, []);
});

test('a change that cannot be witnessed is not acknowledged, and none that shared its transaction is done again', async (t) => {
  const file = join(temporaryFolder(t), 'full');
  symlinkSync('/dev/full', `${file}.witness`);
  const writer = new WitnessWriter(file);
  t.throws(() => writer.write({ epoch: 1, sequence: 1, head: '' }), { code: 'ENOSPC' });
  writer.close();
  let runs = 0;
  const database = guardDatabase({
    transact: async (work: (db: never) => Promise<unknown>) => {
      await work(undefined as never);
      throw new UnacknowledgedChangeError('the disk is full');
    },
    translate: (error: unknown) => error,
  } as unknown as Parameters<typeof guardDatabase>[0]);
  const changes = Array.from({ length: 3 }, () => database.change(async () => (runs += 1)));
  for (const change of changes) await t.throwsAsync(change, { instanceOf: UnacknowledgedChangeError });
  t.is(runs, 3);
});

test('a loss is accepted by name: a new epoch, an audit record, and no join token that may have been spent', async (t) => {
  const { file } = await killedStore(t, 'a', 'b', 'c');
  await t.throwsAsync(acceptLoss(file, restoring), { instanceOf: ConflictError });
  const serving = await openSqliteStore(file);
  await serving.instances.addJoinToken('digest', {
    provider: 'sys.auth.server',
    domain: 'a',
    service: 'b',
    instanceId: 'i',
    createdBy: 'a.b',
    expires: 4e9,
  } as unknown as Parameters<typeof serving.instances.addJoinToken>[1]);
  await t.throwsAsync(acceptLoss(file, restoring), { instanceOf: StoreUnavailableError, message: /is in use/ });
  await serving.close();
  const position = readWitness(file);
  rmSync(`${file}.witness`);
  createWitness(file, { ...(position as Exclude<typeof position, string>), sequence: 9 });
  await t.throwsAsync(openSqliteStore(file), isBehind);
  t.deepEqual(await acceptLoss(file, restoring), { epoch: 2, sequence: 4, lostChanges: 5 });
  t.like(readWitness(file), { epoch: 2, sequence: 10 });
  const store = await openSqliteStore(file);
  const [record] = await store.audit({ limit: 1 });
  t.like(record, { action: 'accept-loss', actor: 'test', subject: 'store' });
  t.is((await store.verifyAudit()).fault, undefined);
  await store.close();
  const database = new Database(file, { readonly: true });
  t.is(database.prepare('select count(*) from join_tokens where spent_at is null').pluck().get(), 0);
  database.close();
});

test('a restore leaves a store behind nothing; an older copy in its place is refused', async (t) => {
  const folder = temporaryFolder(t);
  const [file, backup, copy] = ['signet.db', 'backup', 'copy'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const store = await openSqliteStore(file);
  await save(store, 'a');
  await backUpStore(file, backup, sealKey);
  for (let n = 0; n < 10; n += 1) await save(store, `b${n}`);
  await store.close();
  copyFileSync(file, copy);
  const { epoch } = await restoreStore(file, backup, restoring);
  t.like(readWitness(file), { epoch, sequence: 12 });
  const again = await openSqliteStore(file);
  t.deepEqual((await again.domainNames()).map(String), ['a']);
  await again.close();
  copyFileSync(copy, file);
  await t.throwsAsync(openSqliteStore(file), isBehind);
  // A backup that was copied to another machine begins there.
  const elsewhere = join(folder, 'elsewhere.db');
  copyFileSync(backup, elsewhere);
  const begun = await openSqliteStore(elsewhere);
  t.deepEqual((await begun.domainNames()).map(String), [parseDomainName('a')].map(String));
  await begun.close();
  t.like(readWitness(elsewhere), { epoch: 1, sequence: 1 });
});

test('the log is merged in memory exactly as SQLite does it, wherever it ends', async (t) => {
  const { file, again } = await killedStore(t, 'a', 'b', 'c', 'd');
  const [main, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
  const rows = (database: Database.Database) => {
    try {
      return database.prepare('select id, hash from audit order by id').all();
    } finally {
      database.close();
    }
  };
  const seen = new Set<number>();
  for (let n = 0; n <= 40; n += 1) {
    const cut = Math.floor((log.length * n) / 40);
    const copy = again(`merge${n}`);
    truncateSync(`${copy}-wal`, cut);
    const merged = rows(new Database(mergeLog(main, log.subarray(0, cut)), { readonly: true }));
    t.deepEqual(merged, rows(new Database(copy)), `cut at ${cut}`);
    seen.add(merged.length);
  }
  t.is(seen.size, 4);
  const garbled = Buffer.from(log).fill(1, 5000, 5010);
  t.is(rows(new Database(mergeLog(main, garbled), { readonly: true })).length, 1);
});

test('a restore onto a machine without a store that is killed between its last steps leaves a store that is taken', async (t) => {
  const folder = temporaryFolder(t);
  const source = await openSqliteStore(join(folder, 'source.db'));
  await save(source, 'a');
  await source.close();
  const backup = join(folder, 'backup');
  await backUpStore(join(folder, 'source.db'), backup, sealKey);
  const file = join(folder, 'signet.db');
  const nothing = { epoch: 0, sequence: 0, head: '' };

  // Before the store gets its name.
  createWitness(file, nothing);
  await (await openSqliteStore(file)).close();
  rmSync(file);
  rmSync(`${file}.witness`);

  // After it, and before the witness says what the store is.
  await restoreStore(file, backup, restoring);
  rmSync(`${file}.witness`);
  await t.throwsAsync(openSqliteStore(file), isBehind, 'without any it would be one that was removed');
  createWitness(file, nothing);
  const store = await openSqliteStore(file);
  await save(store, 'b');
  t.deepEqual((await store.domainNames()).map(String), ['a', 'b']);
  const { epoch } = await store.state();
  await store.close();
  t.like(readWitness(file), { epoch });
});
