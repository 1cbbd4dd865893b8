import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseDomainName } from '@signet/policy-engine/names';
import { StoreRefusedError, StoreUnavailableError } from '@signet/server/errors';
import { migrate } from '@signet/server/store/sqlite/migrate';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { SqliteQueries } from '@signet/server/store/sqlite/sqlite-queries';
import test from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'test' };

async function filledStore(file: string): Promise<void> {
  const store = await openSqliteStore(file);
  const members = Array.from({ length: 2000 }, (_, index) => `media.s${index}`);
  await store.change(by, (change) => saveDomain(change, domainContent('catalog', { roles: { reader: members } })));
  await store.close();
}

test('the files can be read by their owner only', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  await store.change(by, (change) => saveDomain(change, domainContent('catalog')));
  for (const suffix of ['', '-wal', '-shm']) t.is(statSync(`${file}${suffix}`).mode & 0o777, 0o600, suffix);
  await store.close();
});

test('a change is on the disk when it is acknowledged, and checked against references', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await filledStore(file);
  const again = await openSqliteStore(file);
  t.is((await again.domain(parseDomainName('catalog')))?.roles[0]?.members.length, 2000);
  await again.close();
});

const refusals: readonly {
  readonly note: string;
  readonly reason: string;
  readonly message: string;
  readonly prepare: (file: string, folder: string) => void | Promise<void>;
}[] = [
  {
    note: 'a symbolic link',
    reason: 'symlink',
    message: 'is a symbolic link',
    prepare: async (file, folder) => {
      await filledStore(join(folder, 'real.db'));
      symlinkSync(join(folder, 'real.db'), file);
    },
  },
  {
    note: 'a link to nowhere',
    reason: 'symlink',
    message: 'is a symbolic link',
    prepare: (file, folder) => symlinkSync(join(folder, 'nowhere'), file),
  },
  { note: 'a folder', reason: 'not-a-file', message: 'is not a regular file', prepare: (file) => mkdirSync(file) },
  ...[0o644, 0o640, 0o604, 0o620, 0o602].map((mode) => ({
    note: `mode ${mode.toString(8)}`,
    reason: 'mode',
    message: 'can be read by others: its mode must be 0600',
    prepare: async (file: string) => {
      await filledStore(file);
      chmodSync(file, mode);
    },
  })),
  {
    note: 'a log of another mode',
    reason: 'mode',
    message: 'can be read by others: its mode must be 0600',
    prepare: async (file) => {
      await filledStore(file);
      writeFileSync(`${file}-wal`, '', { mode: 0o600 });
      chmodSync(`${file}-wal`, 0o644);
    },
  },
  {
    note: 'another kind of file',
    reason: 'corrupt',
    message: 'is not a SQLite database',
    prepare: (file) => writeFileSync(file, 'domain: catalog\n', { mode: 0o600 }),
  },
  {
    note: 'a page that was overwritten',
    reason: 'corrupt',
    message: 'is corrupt',
    prepare: async (file) => {
      await filledStore(file);
      const pages = Math.floor(statSync(file).size / 4096);
      const descriptor = openSync(file, 'r+');
      for (let page = 2; page < pages; page += 1) writeSync(descriptor, Buffer.alloc(2000, 0xaa), 0, 2000, page * 4096);
      closeSync(descriptor);
    },
  },
  {
    note: 'a file that was emptied',
    reason: 'corrupt',
    message: 'is empty: restore a backup, or remove the file to start with an empty store',
    prepare: async (file) => {
      await filledStore(file);
      writeFileSync(file, '');
      utimesSync(file, 1_700_000_000, 1_700_000_000);
    },
  },
  {
    note: 'a file that was cut off',
    reason: 'corrupt',
    message: 'is corrupt',
    prepare: async (file) => {
      await filledStore(file);
      writeFileSync(file, readFileSync(file).subarray(0, 20_000));
    },
  },
  {
    note: 'a schema of a newer program',
    reason: 'newer-schema',
    message: 'was written by a newer version of this program',
    prepare: async (file) => {
      await filledStore(file);
      const database = new Database(file);
      database.exec(`insert into kysely_migration (name, timestamp) values ('999-future', '2030')`);
      database.close();
    },
  },
  {
    note: 'a schema from before a migration was merged in between',
    reason: 'diverged-schema',
    message: ofAnother('it lacks the migration `005-object-changes`'),
    prepare: (file) => withSteps(file, `delete from kysely_migration where name = '005-object-changes'`),
  },
  {
    note: 'a schema from before a migration was renamed',
    reason: 'diverged-schema',
    message: ofAnother(
      'it lacks the migration `005-object-changes`; it has the migration `005-changes`, which this version does not know',
    ),
    prepare: (file) =>
      withSteps(file, `update kysely_migration set name = '005-changes' where name = '005-object-changes'`),
  },
  {
    note: 'a schema of another branch, which has a step of its own and not the last of ours',
    reason: 'diverged-schema',
    message: ofAnother(
      'it lacks the migration `010-delegated-keys`; it has the migration `999-branch`, which this version does not know',
    ),
    prepare: (file) =>
      withSteps(file, `update kysely_migration set name = '999-branch' where name = '010-delegated-keys'`),
  },
];

function ofAnother(differences: string): string {
  const help = 'export its documents with the version that wrote it, and apply them to a new store';
  return `was written by a development version of this program (${differences}): ${help}`;
}

async function withSteps(file: string, sql: string): Promise<void> {
  await filledStore(file);
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

for (const { note, reason, message, prepare } of refusals) {
  test(`refused: ${note}`, async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'signet.db');
    await prepare(file, folder);
    const error = await t.throwsAsync(openSqliteStore(file), { instanceOf: StoreRefusedError });
    t.is(error.reason as string, reason);
    t.true(error.message.endsWith(message), error.message);
    t.false(error.message.includes('\n'));
    t.is(error.exitStatus, 78);
  });
}

test('refused: a folder that does not exist', async (t) => {
  const file = join(temporaryFolder(t), 'nowhere', 'signet.db');
  await t.throwsAsync(openSqliteStore(file), {
    instanceOf: StoreRefusedError,
    message: /^the folder of store .* does not exist$/,
  });
});

test('refused: a file of somebody else', async (t) => {
  if (process.getuid?.() !== 0) return t.pass('only root can give a file away');
  const file = join(temporaryFolder(t), 'signet.db');
  await filledStore(file);
  chownSync(file, 65_534, 65_534);
  await t.throwsAsync(openSqliteStore(file), { instanceOf: StoreRefusedError, message: /belongs to another user$/ });
});

test('opened for reading: it must exist, and nothing can be changed', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await t.throwsAsync(openSqliteStore(file, { readonly: true }), {
    instanceOf: StoreRefusedError,
    message: /does not exist$/,
  });
  await filledStore(file);
  const store = await openSqliteStore(file, { readonly: true });
  t.is((await store.state()).counter, 1);
  await t.throwsAsync(
    store.change(by, (change) => saveDomain(change, domainContent('x'))),
    { instanceOf: StoreUnavailableError },
  );
  await store.close();
});

test('many open a new store at the same time', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const stores = await Promise.all(Array.from({ length: 5 }, () => openSqliteStore(file)));
  for (const store of stores) {
    await store.change(by, (change) => saveDomain(change, domainContent(`d${stores.indexOf(store)}`)));
  }
  for (const store of stores) {
    t.is((await store.domainNames()).length, 5);
    await store.close();
  }
});

test('a log of another store is refused before it is written into the file', async (t) => {
  const folder = temporaryFolder(t);
  const [file, other] = [join(folder, 'signet.db'), join(folder, 'other.db')];
  await filledStore(file);
  const members = Array.from({ length: 200 }, (_, index) => `media.a-rather-long-name-${index}`);
  const fill = async (count: number) => {
    const filled = await openSqliteStore(other);
    for (let n = 0; n < count; n += 1) {
      const roles = { [`r${count}`]: members };
      await filled.change(by, (change) => saveDomain(change, domainContent(`d${n}`, { roles })));
    }
    return filled;
  };
  await (await fill(20)).close();
  // Holds only what changed since.
  const busy = await fill(3);
  const log = readFileSync(`${other}-wal`);
  await busy.close();
  const store = await openSqliteStore(file);
  await store.change(by, (change) => change.deleteDomain(parseDomainName('catalog')));
  await store.close();
  const before = readFileSync(file);
  writeFileSync(`${file}-wal`, log, { mode: 0o600 });
  for (const readonly of [true, false]) {
    const opened = openSqliteStore(file, { readonly });
    await t.throwsAsync(opened, { instanceOf: StoreRefusedError, message: /is corrupt$/ });
    t.true(readFileSync(file).equals(before));
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  const again = await openSqliteStore(file);
  t.deepEqual(await again.domainNames(), []);
  await again.close();
});

test('the log gives its space back after a long read', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  const reader = new Database(file, { readonly: true });
  reader.exec('begin; select * from meta');
  for (let n = 0; n < 12; n += 1) {
    const description = String(n).repeat(1_000_000);
    await store.change(by, (change) => saveDomain(change, { ...domainContent('big'), description }));
  }
  t.true(statSync(`${file}-wal`).size > 20_000_000);
  reader.close();
  for (const name of ['a', 'b', 'c']) await store.change(by, (change) => saveDomain(change, domainContent(name)));
  t.true(statSync(`${file}-wal`).size <= 16_000_000);
  await store.close();
});

test('a change that was cut off before the file had its log is rolled back at the next start', async (t) => {
  const folder = temporaryFolder(t);
  const [file, killed] = [join(folder, 'signet.db'), join(folder, 'killed.db')];
  await filledStore(file);
  const database = new Database(file);
  database.pragma('journal_mode = delete');
  // Rows beyond the cache are written into the file before the end, with their former content in a journal.
  database.pragma('cache_size = 1');
  database.exec("begin; update members set member = member || 'x'; update members set disabled = 1");
  for (const suffix of ['', '-journal', '.witness']) copyFileSync(`${file}${suffix}`, `${killed}${suffix}`);
  database.close();
  t.false(readFileSync(killed).equals(readFileSync(file)));
  const store = await openSqliteStore(killed);
  const members = (await store.domain(parseDomainName('catalog')))?.roles[0]?.members ?? [];
  t.deepEqual(
    [members.length, members.filter((member) => member.disabled || member.name.endsWith('x')).length],
    [2000, 0],
  );
  await store.close();
});

test('a migration that fails half-way leaves the file as it was, and is done the next time', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const blocked = new Database(file);
  blocked.exec('create table audit (in_the_way text)');
  blocked.close();
  chmodSync(file, 0o600);
  const queries = new SqliteQueries(new Database(file), 'changes');
  await t.throwsAsync(migrate(queries), { message: /audit/ });
  await queries.close();
  const looked = new Database(file);
  const tables = looked.prepare(
    `select name from sqlite_master where type = 'table' and name in ('domains', 'signing_keys')`,
  );
  t.deepEqual(tables.all(), []);
  looked.exec('drop table audit');
  looked.close();
  const store = await openSqliteStore(file);
  t.like(await store.state(), { epoch: 1, counter: 0 });
  await store.close();
});

test('locked by another writer: reads go on, changes wait without holding anybody up, and all say so together', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await filledStore(file);
  const store = await openSqliteStore(file);
  const other = new Database(file);
  other.exec('begin immediate');
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const begun = performance.now();
  const change = () => store.change(by, (transaction) => saveDomain(transaction, domainContent('x')));
  const refused = (promise: Promise<unknown>) =>
    t.throwsAsync(promise, { instanceOf: StoreUnavailableError, message: 'the store is locked by another writer' });
  const first = refused(change()).then(() => performance.now() - begun);
  const queued = Array.from({ length: 5 }, () => refused(change()));
  const certificates = Array.from({ length: 5 }, (_, index) =>
    refused(store.certificates.confirm(`${index}`, 'print')),
  );
  let [turns, reads] = [0, 0];
  const turning = setInterval(() => {
    turns += 1;
    void store.domain(parseDomainName('catalog')).then(() => {
      reads += 1;
    });
  }, 20);
  const alone = await first;
  await Promise.all([...queued, ...certificates]);
  clearInterval(turning);
  delay.disable();
  t.log(`the loop stood still for ${Math.round(delay.max / 1e6)} ms at most, ${turns} turns, ${reads} reads`);
  // Five seconds of standing still would leave next to none.
  t.true(turns > 10 && reads > 10, `${turns} turns, ${reads} reads`);
  // In sequence they would wait six times as long as the first.
  t.true(performance.now() - begun < 4 * alone, 'who queues waits as long again');
  other.exec('rollback');
  t.is((await change()).kind, 'created');
  other.exec('begin immediate');
  const waits = store.change(by, (transaction) => saveDomain(transaction, domainContent('y')));
  await pause(50);
  other.exec('rollback');
  t.is((await waits).kind, 'created');
  other.close();
  await store.close();
});

test('the file is removed and comes back; then another one takes its place', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  await filledStore(file);
  const store = await openSqliteStore(file);
  renameSync(file, `${file}.away`);
  await t.throwsAsync(store.state(), { instanceOf: StoreUnavailableError, message: 'the file of the store is gone' });
  await t.throwsAsync(
    store.change(by, (change) => saveDomain(change, domainContent('x'))),
    { instanceOf: StoreUnavailableError },
  );
  renameSync(`${file}.away`, file);
  t.is((await store.state()).counter, 1);
  const next = join(folder, 'next.db');
  const other = await openSqliteStore(next);
  for (const name of ['a', 'b', 'c']) await other.change(by, (change) => saveDomain(change, domainContent(name)));
  await other.close();
  renameSync(next, file);
  // Another history: only with its own witness, as after a restore.
  const refused = {
    instanceOf: StoreRefusedError,
    message: /it lacks audit record `[0-9a-f]{64}`, which was acknowledged/,
  };
  await t.throwsAsync(store.domainNames(), refused);
  renameSync(`${next}.witness`, `${file}.witness`);
  t.deepEqual((await store.domainNames()).map(String), ['a', 'b', 'c']);
  await store.change(by, (change) => saveDomain(change, domainContent('d')));
  t.is((await store.state()).counter, 4);
  await store.close();
});

test('a change that cannot be audited is refused, also when SQLite has rolled it back by itself', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await filledStore(file);
  // Fails as a full disk does: SQLite rolls the transaction back by itself.
  const store = await openSqliteStore(file);
  const database = new Database(file);
  database.exec(`create trigger full before insert on audit begin select raise(rollback, 'no audit'); end`);
  database.close();
  const attempt = store.change(by, (change) => saveDomain(change, domainContent('x')));
  const error = await t.throwsAsync(attempt);
  t.is(error.message, 'the store cannot be read or written');
  t.like(await store.state(), { epoch: 1, counter: 1 });
  t.deepEqual((await store.domainNames()).map(String), ['catalog']);
  await store.close();
});
