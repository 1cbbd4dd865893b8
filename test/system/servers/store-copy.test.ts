import { existsSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StorePlace } from '@signet/server/config/store-place';
import { ConflictError, StoreRefusedError } from '@signet/server/errors';
import type { CopyTarget } from '@signet/server/store/copy/copy-end';
import { copyRows } from '@signet/server/store/copy/copy-rows';
import { compareStores, copyStore, openSource } from '@signet/server/store/copy-store';
import { tableNames } from '@signet/server/store/database-schema';
import { openStore } from '@signet/server/store/open';
import { openPostgresTarget } from '@signet/server/store/postgres/copy-ends';
import { openSqliteTarget } from '@signet/server/store/sqlite/copy-ends';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { tableShapes } from '@signet/server/store/sqlite/table-shapes';
import { replaceWitness } from '@signet/server/store/sqlite/witness';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { fillEveryTable, oddTexts } from '#support/full-store';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { saveDomain } from '#support/save-domain';
import { wholeFile } from '#support/start-server';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const file = wholeFile();
const server = postgresPrograms === undefined ? undefined : await startPostgres(file, ['max_connections=300']);
test.after.always(() => file.end());

const fromStart = { resume: false, whileRunning: false };
const resuming = { resume: true, whileRunning: false };
type FilePlace = Extract<StorePlace, { kind: 'sqlite' }>;

const sqliteIn = (t: ExecutionContext, name = 'signet.db'): FilePlace => ({
  kind: 'sqlite',
  file: join(temporaryFolder(t), name),
});

/** A store whose every table is filled, in SQLite. */
async function fullStore(t: ExecutionContext, rows?: number): Promise<FilePlace> {
  const place = sqliteIn(t, 'full.db');
  await (await openSqliteStore(place.file)).close();
  const database = new Database(place.file);
  fillEveryTable(database, tableNames, rows);
  database.close();
  replaceWitness(place.file, { epoch: 0, sequence: 0, head: '' });
  return place;
}

async function emptyStore(place: StorePlace): Promise<StorePlace> {
  await (await openStore(place)).close();
  return place;
}

const change = async (place: StorePlace, name: string): Promise<void> => {
  const store = await openStore(place);
  await store.change({ actor: 'local:jane' }, (transaction) => saveDomain(transaction, domainContent(name, {})));
  await store.close();
};

const digestOf = async (place: StorePlace): Promise<string> => (await compareStores(place, place)).from.digest;

/** A target that ends as if the process were killed, before the transaction with this number is committed. */
function endingAt(target: CopyTarget, transaction: number): CopyTarget {
  let count = 0;
  return {
    ...target,
    change: (work) =>
      target.change(async (db) => {
        const result = await work(db);
        count += 1;
        if (count === transaction) throw new Error('killed');
        return result;
      }),
  };
}

test('a table without a place in the order of tables is noticed, and each has a primary key', async (t) => {
  const shapes = await tableShapes();
  t.deepEqual(shapes.map(({ name }) => name).toSorted(), [...tableNames].toSorted());
  t.is(shapes.at(-1)?.name, 'meta');
  t.true(shapes.every(({ key }) => key.length > 0));
});

type Places = readonly [from: StorePlace, to: StorePlace];

/** Suite for every pair of databases. `places`: an empty place of each kind, made for the test. */
function suite(title: string, emptyPlaces: (t: ExecutionContext) => Promise<Places>): void {
  const filled = async (t: ExecutionContext, rows?: number): Promise<Places> => {
    const [from, to] = await emptyPlaces(t);
    const full = await fullStore(t, rows);
    if (from.kind === 'sqlite') return [full, to];
    await copyStore(full, from, fromStart);
    return [from, to];
  };

  test(`${title}: every table, column and value arrives`, async (t) => {
    const [from, to] = await filled(t);
    const copied = await copyStore(from, to, fromStart);
    t.is(copied.began, 'new');
    t.is(copied.rows, (tableNames.length - 1) * oddTexts.length + 1);
    const { differs, ...both } = await compareStores(from, to);
    t.is(differs, undefined);
    t.is(both.from.digest, copied.digest);
    t.is(both.to.digest, copied.digest);
  });

  test(`${title}: hosts notice nothing, and the copy goes on as a store`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    const before = await openStore(from);
    const contents = await contentsOf(before);
    await before.close();
    await copyStore(from, to, fromStart);
    const after = await openStore(to);
    t.deepEqual(await contentsOf(after), contents);
    t.is((await after.verifyAudit()).fault, undefined);
    await after.change({ actor: 'local:jane' }, (transaction) => saveDomain(transaction, domainContent('films', {})));
    t.is((await after.state()).counter, contents.state.counter + 1);
    await after.close();
    t.is((await compareStores(from, to)).differs, 'domains');
  });

  test(`${title}: ended before any of its transactions, a copy is refused as a store and resumed`, async (t) => {
    const [from, to] = await filled(t, 3);
    const shapes = await tableShapes();
    const digest = await digestOf(from);
    const copyUntil = async (transaction: number, resume: boolean): Promise<unknown> => {
      const source = await openSource(from, 'locked-out');
      const target = to.kind === 'sqlite' ? await openSqliteTarget(to.file) : await openPostgresTarget(to);
      try {
        return await copyRows(source, endingAt(target, transaction), { shapes, resume });
      } catch (error) {
        t.is(error instanceof Error && error.message, 'killed');
        return undefined;
      } finally {
        await target.close();
        await source.close();
      }
    };
    // Before there is a mark: nothing has happened.
    await copyUntil(1, false);
    let ended = 0;
    // From then on each attempt copies one page, of a table each; the last transaction completes the copy.
    while ((await copyUntil(ended === 0 ? 2 : 3, ended > 0)) === undefined) {
      ended += 1;
      const refused = await t.throwsAsync(openStore(to), { instanceOf: StoreRefusedError });
      t.is(refused?.reason, 'partial-copy');
      t.is(refused?.exitStatus, 78);
      t.regex(refused?.message ?? '', /`signet store copy --resume`/);
      const again = await t.throwsAsync(copyStore(from, to, fromStart), { instanceOf: StoreRefusedError });
      t.is(again?.reason, 'partial-copy');
    }
    t.is(ended, shapes.length);
    t.is(await digestOf(to), digest);
    t.like(await copyStore(from, to, resuming), { began: 'resumed', digest }, 'ended after the last one, it is done');
    await t.notThrowsAsync(emptyStore(to));
  });

  test(`${title}: a source that has changed is copied from the beginning, another one is refused`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    const shapes = await tableShapes();
    const source = await openSource(from, 'locked-out');
    const target = to.kind === 'sqlite' ? await openSqliteTarget(to.file) : await openPostgresTarget(to);
    await t.throwsAsync(copyRows(source, endingAt(target, 3), { shapes, resume: false }), { message: 'killed' });
    await target.close();
    await source.close();
    await change(from, 'films');
    const other = sqliteIn(t, 'other.db');
    await change(other, 'media');
    const refused = await t.throwsAsync(copyStore(other, to, resuming), { instanceOf: ConflictError });
    t.regex(refused?.message ?? '', /partial copy of another store/);
    const { began, digest } = await copyStore(from, to, resuming);
    t.is(began, 'restarted');
    t.is(await digestOf(to), digest);
  });

  test(`${title}: only an empty place is filled`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    await change(to, 'films');
    const digest = await digestOf(to);
    const refused = await t.throwsAsync(copyStore(from, to, fromStart), { instanceOf: ConflictError });
    t.regex(refused?.message ?? '', /holds a store/);
    await t.throwsAsync(copyStore(from, to, resuming), { instanceOf: ConflictError });
    t.is(await digestOf(to), digest);
  });

  test(`${title}: a copy that is not what its source is does not count`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    const shapes = await tableShapes();
    const source = await openSource(from, 'locked-out');
    const target = to.kind === 'sqlite' ? await openSqliteTarget(to.file) : await openPostgresTarget(to);
    const changing: CopyTarget = {
      ...target,
      change: (work) =>
        target.change(async (db) => {
          await db.updateTable('domains').set({ description: 'another' }).execute();
          return work(db);
        }),
    };
    await t.throwsAsync(copyRows(source, changing, { shapes, resume: false }), {
      instanceOf: StoreRefusedError,
      message: 'the copy of table `domains` differs from its source',
    });
    await target.close();
    await source.close();
    const refused = await t.throwsAsync(openStore(to), { instanceOf: StoreRefusedError });
    t.is(refused?.reason, 'partial-copy');
  });

  test(`${title}: servers that use one of the two are noticed`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    const server = await openStore(from);
    const refused = await t.throwsAsync(copyStore(from, to, fromStart), { instanceOf: ConflictError });
    t.regex(refused?.message ?? '', /in use/);
    const { digest } = await copyStore(from, to, { resume: false, whileRunning: true });
    await server.close();
    t.is(await digestOf(to), digest);
  });

  test(`${title}: servers that use the target are noticed`, async (t) => {
    const [from, to] = await emptyPlaces(t);
    await change(from, 'media');
    const server = await openStore(to);
    await t.throwsAsync(copyStore(from, to, { resume: false, whileRunning: true }), {
      instanceOf: ConflictError,
      message: /in use/,
    });
    await server.close();
  });
}

suite('SQLite to SQLite', async (t) => [sqliteIn(t), sqliteIn(t)]);

test('a file is made for its owner alone, with a witness that is in step', async (t) => {
  const [from, to] = [sqliteIn(t), sqliteIn(t)];
  await change(from, 'media');
  await copyStore(from, to, fromStart);
  t.is(statSync(to.file).mode & 0o777, 0o600);
  t.false(existsSync(`${to.file}-wal`));
  t.true(existsSync(`${to.file}.witness`));
  const store = await openStore(to);
  t.is(store.condition(), 'writable');
  await store.close();
});

test('a file that a killed copy left empty is filled, one that was a store is not', async (t) => {
  const [from, to] = [sqliteIn(t), sqliteIn(t)];
  await change(from, 'media');
  writeFileSync(to.file, '', { mode: 0o600 });
  utimesSync(to.file, 0, 0);
  t.is((await copyStore(from, to, resuming)).began, 'new');
  truncateSync(to.file);
  utimesSync(to.file, 0, 0);
  await t.throwsAsync(copyStore(from, to, resuming), { instanceOf: StoreRefusedError, message: /is empty/ });
});

for (const [what, value] of [
  ['a number that is not whole', 1.5],
  ['a number that JavaScript rounds', 2n ** 53n],
  ['bytes', Buffer.from('x')],
] as const) {
  test(`a store that holds ${what} is not copied`, async (t) => {
    const [from, to] = [await fullStore(t, 3), sqliteIn(t)];
    const database = new Database(from.file);
    database.prepare('update ended_names set ended_at = ? where name = ?').run(value, 'a-b');
    database.close();
    const refused = await t.throwsAsync(copyStore(from, to, fromStart), { instanceOf: StoreRefusedError });
    t.is(refused?.message, 'table `ended_names`, row `["a-b"]`: column `ended_at` does not hold an integer');
    t.false(existsSync(`${to.file}.witness`));
  });
}

test('what PostgreSQL cannot keep is named', async (t) => {
  const [from, to] = [await fullStore(t, 3), sqliteIn(t)];
  const database = new Database(from.file);
  database.prepare('update domains set description = ? where name = ?').run('x\0y', 'a-b');
  database.close();
  await t.throwsAsync(copyStore(from, to, fromStart), {
    instanceOf: StoreRefusedError,
    message: 'table `domains`, row `["a-b"]`: column `description` holds a NUL character',
  });
});

if (server === undefined) test.skip(noPostgres, (t) => t.pass());
else {
  const database = async (collation: 'C' | 'icu-en-US' = 'icu-en-US'): Promise<StorePlace> => ({
    kind: 'postgres',
    ...server.settings(await server.createDatabase(collation)),
  });
  suite('SQLite to PostgreSQL', async (t) => [sqliteIn(t), await database()]);
  suite('PostgreSQL to SQLite', async (t) => [await database(), sqliteIn(t)]);
  suite('PostgreSQL to PostgreSQL', async () => [await database('C'), await database()]);

  test('a server that begins on the source while it is copied is noticed', async (t) => {
    const [from, to] = [await database(), sqliteIn(t)];
    await change(from, 'media');
    const [source, target] = [await openSource(from, 'locked-out'), await openSqliteTarget(to.file)];
    const late = await openStore(from);
    const shapes = await tableShapes();
    await t.throwsAsync(copyRows(source, target, { shapes, resume: false }), {
      instanceOf: ConflictError,
      message: /in use/,
    });
    await late.close();
    t.is((await copyRows(source, target, { shapes, resume: true })).began, 'resumed');
    await target.close();
    await source.close();
  });

  test('there and back again, and the digest is the same', async (t) => {
    const [from, middle, to] = [await fullStore(t), await database(), sqliteIn(t)];
    const there = await copyStore(from, middle, fromStart);
    t.is((await copyStore(middle, to, fromStart)).digest, there.digest);
    t.is(await digestOf(from), there.digest);
  });
}
