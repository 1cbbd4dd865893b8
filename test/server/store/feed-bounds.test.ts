import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import type { StoreState } from '@signet/server/model/store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { serialisedSnapshot } from '#support/serialised-snapshot';
import { takeBack } from '#support/store-before';
import { changesAfter } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'test' };
const never = 3_600_000;
const kept = 20_000;
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `m.s${from + index}`);

async function openWorld(t: ExecutionContext, file = join(temporaryFolder(t), 'signet.db')) {
  const clock = new FakeClock();
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  const save = (name: string, members: readonly string[]) =>
    store.change(by, (change) => saveDomain(change, domainContent(name, { roles: { r: members } })));
  const follow = async () => {
    const live = await openLiveSnapshot({ store, clock, refreshIntervalMs: never });
    t.teardown(() => live.close());
    return live;
  };
  const told = (known: StoreState) => changesAfter(store, known, () => true);
  return { file, store, save, follow, told };
}

function inFile<Result>(file: string, work: (database: Database.Database) => Result): Result {
  const database = new Database(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** How many rows there are, and the counter of the oldest. */
function feedIn(file: string): readonly [rows: number, oldest: number] {
  return inFile(file, (database) => {
    const row = database.prepare<[], [number, number]>('select count(*), min(seq) from changes').raw().get();
    return row ?? [0, 0];
  });
}

/** Rows as of a change that touched many names. */
function inflate(file: string, seq: number, rows: number): void {
  inFile(file, (database) =>
    database
      .prepare(`with recursive n (i) as (values (1) union all select i + 1 from n where i < ?)
        insert into changes select ?, 'a', 'member', 'n.' || i from n`)
      .run(rows, seq),
  );
}

test('no more rows are kept than are followed; who is behind them reads everything, who is not goes on', async (t) => {
  const { file, store, save, follow, told } = await openWorld(t);
  await save('a', []);
  const slow = await follow();
  const first = await store.state();
  await save('a', ['m.x']);
  const second = await store.state();
  inflate(file, second.counter, kept - 600);
  t.not((await told(first))?.since, undefined, 'few enough to follow');
  await save('b', numbered(300));
  t.true(feedIn(file)[0] <= kept);
  t.is(feedIn(file)[1], first.counter, 'nothing is removed before it has to be');
  await save('b', numbered(310, 300));
  t.deepEqual(feedIn(file), [1 + 302 + 611, second.counter], 'of the change that is too large its head is left');
  t.is((await told(first))?.since, undefined);
  t.deepEqual((await told(second))?.since, second);
  await slow.refresh();
  const fresh = await follow();
  t.is(serialisedSnapshot(slow.current()), serialisedSnapshot(fresh.current()));
});

function headOf(file: string, seq: number): string {
  const head = inFile(file, (database) =>
    database.prepare("select key from changes where seq = ? and kind = 'head'").pluck().get(seq),
  );
  return String(head);
}

test('rows are removed now and then where changes are small', async (t) => {
  const { file, store, save } = await openWorld(t);
  await save('a', []);
  inflate(file, 1, kept);
  for (let turn = 0; (await store.state()).counter < 255; turn += 1) await save('a', [`m.s${turn}`]);
  t.true(feedIn(file)[0] > kept);
  await save('a', []);
  t.true(feedIn(file)[0] < 1000);
  t.is(feedIn(file)[1], 1, 'whoever knows that state follows');
});

test('a change that is too large to follow keeps its head alone, and nothing of what was before', async (t) => {
  const { file, store, save, follow, told } = await openWorld(t);
  await save('a', ['m.x']);
  const live = await follow();
  const before = await store.state();
  await store.change(by, async (change) => {
    for (let index = 0; index < 23; index += 1) {
      await saveDomain(change, domainContent(`d${index}`, { roles: { r: numbered(900) } }));
    }
    await saveDomain(change, domainContent('a', { roles: { r: [] } }));
  });
  const after = await store.state();
  t.deepEqual(feedIn(file), [1, after.counter]);
  t.is((await told(before))?.since, undefined);
  await live.refresh();
  t.is(live.current().members.get(parseDomainName('a'))?.names.size, 0);
  await save('a', ['m.y']);
  t.deepEqual((await told(after))?.since, after, 'the next change is followed again');
});

test('a store of the version before is brought over, and its next change is followed', async (t) => {
  const { file, store, save, follow } = await openWorld(t);
  await save('a', ['m.x']);
  await save('b', ['m.y']);
  await store.change(by, (change) => change.deleteDomain(parseDomainName('b')));
  const was = serialisedSnapshot((await follow()).current());
  const { counter } = await store.state();
  await store.close();
  await takeBack(file, '012-changes');
  t.deepEqual(
    inFile(file, (database) => database.prepare("select 1 from sqlite_schema where name = 'changes'").all()),
    [],
  );

  const again = await openWorld(t, file);
  const live = await again.follow();
  const now = live.current();
  const head = headOf(file, counter);
  t.deepEqual(await again.store.state(), { epoch: 1, counter, head });
  t.regex(head, /^[0-9a-f]{64}$/);
  t.is(serialisedSnapshot(now), was, 'and nothing else has changed');
  await again.save('a', ['m.z']);
  const changes = await again.told(now);
  t.deepEqual(changes?.since, { epoch: 1, counter, head });
  t.deepEqual(changes?.updates?.[0]?.names, ['m.x', 'm.z']);
  await live.refresh();
  t.is(serialisedSnapshot(live.current()), serialisedSnapshot((await again.follow()).current()));
});

test('a writer that leaves no rows, as one of the version before would, is noticed', async (t) => {
  const { file, store, save, follow } = await openWorld(t);
  await save('a', ['m.x', 'm.y']);
  const live = await follow();
  inFile(file, (database) => {
    database.exec(`delete from members where member = 'm.x'; update roles set member_count = 1;
      update meta set counter = counter + 1`);
  });
  await live.refresh();
  t.deepEqual([...(live.current().members.get(parseDomainName('a'))?.names.keys() ?? [])], ['m.y']);
  await save('a', []);
  await live.refresh();
  t.is(live.current().members.get(parseDomainName('a'))?.names.size, 0);
  t.is(live.current().counter, (await store.state()).counter);
});
