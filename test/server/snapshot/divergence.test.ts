import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { StoreUnavailableError } from '@signet/server/errors';
import { createLogger } from '@signet/server/logger';
import type { SnapshotSource, Store } from '@signet/server/model/store';
import { type LiveSnapshot, type OtherHistory, openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { endDivergence, logHistory } from '@signet/server/store-watch/store-history';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domains';
import { readHeads } from '#support/feed-rows';
import { packedParts } from '#support/packed-parts';
import { saveDomain } from '#support/save-domain';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* A store that goes on from an earlier state, as after a failover that lost changes: two copies of one store that were changed in other ways. */

const by = { actor: 'test' };
const never = 3_600_000;

async function save(store: Store, ...names: readonly string[]): Promise<void> {
  for (const name of names) await store.change(by, (change) => saveDomain(change, domainContent(name)));
}

interface World {
  readonly clock: FakeClock;
  /** The history that goes on. */
  readonly kept: Store;
  /** The one that will be lost. */
  readonly lost: Store;
  readonly files: readonly [kept: string, lost: string];
  /** A reader of the store, whichever of the two that is. */
  follow(more?: Partial<Parameters<typeof openLiveSnapshot>[0]>): Promise<LiveSnapshot>;
  become(store: Store): void;
  readonly histories: OtherHistory[];
}

async function openWorld(t: ExecutionContext): Promise<World> {
  const folder = temporaryFolder(t);
  const clock = new FakeClock();
  const files = ['kept', 'lost'].map((name) => join(folder, `${name}.db`)) as [string, string];
  const common = await openSqliteStore(files[0], { clock });
  await save(common, 'a', 'b');
  await common.close();
  for (const suffix of ['', '.witness']) copyFileSync(`${files[0]}${suffix}`, `${files[1]}${suffix}`);
  const [kept, lost] = [await openSqliteStore(files[0], { clock }), await openSqliteStore(files[1], { clock })];
  let current = lost;
  const source: SnapshotSource = {
    state: () => current.state(),
    changesSince: (...known) => current.changesSince(...known),
    everything: (work) => current.everything(work),
  };
  const histories: OtherHistory[] = [];
  t.teardown(async () => {
    await kept.close();
    await lost.close();
  });
  return {
    clock,
    kept,
    lost,
    files,
    histories,
    become: (store) => {
      current = store;
    },
    follow: async (more = {}) => {
      const live = await openLiveSnapshot({ store: source, clock, refreshIntervalMs: never, ...more });
      live.onOtherHistory((history) => histories.push(history));
      t.teardown(() => live.close());
      return live;
    },
  };
}

const names = (live: LiveSnapshot) => [...live.current().domains.keys()].map(String).sort();

const histories: readonly [note: string, kept: readonly string[], lost: readonly string[]][] = [
  ['the counter fell', [], ['lost']],
  ['the same counter with another head', ['kept'], ['lost']],
  ['a later counter that does not pass through what was known', ['kept', 'more', 'still-more'], ['lost']],
];

for (const [note, ofKept, ofLost] of histories) {
  test(`another history: ${note}`, async (t) => {
    const { kept, lost, histories: told, become, follow } = await openWorld(t);
    await save(lost, ...ofLost);
    const live = await follow();
    t.deepEqual(names(live), ['a', 'b', ...ofLost]);
    await save(kept, ...ofKept);
    become(kept);
    await live.refresh();
    t.deepEqual(names(live), ['a', 'b', ...ofKept].sort(), 'what was lost does not count any more');
    const divergence = { known: await lost.state(), found: await kept.state(), epoch: 1 };
    t.deepEqual(told, [{ state: divergence.found, divergence }]);
    t.deepEqual(live.status().divergence, divergence);
    await save(kept, 'later');
    await live.refresh();
    t.true(live.current().domains.has(parseDomainName('later')), 'it goes on');
    t.deepEqual(live.status().divergence, divergence, 'and is not over');
    await kept.change(by, (change) => change.newEpoch());
    await live.refresh();
    t.is(live.status().divergence, undefined);
    t.is(live.current().epoch, 2);
    t.deepEqual(told[1], { state: await kept.state() });
    t.is(told.length, 2);
  });
}

test('an epoch that fell is another history; it ends with one that is later than every one known', async (t) => {
  const { kept, lost, become, follow } = await openWorld(t);
  await lost.change(by, (change) => change.newEpoch(3));
  const live = await follow();
  t.is(live.current().epoch, 4);
  become(kept);
  await live.refresh();
  t.is(live.status().divergence?.epoch, 4);
  await kept.change(by, (change) => change.newEpoch());
  await live.refresh();
  t.is(live.current().epoch, 2);
  t.is(live.status().divergence?.epoch, 4, 'hosts have bundles of a later one');
  await kept.change(by, (change) => change.newEpoch(live.status().divergence?.epoch));
  await live.refresh();
  t.is(live.current().epoch, 5);
  t.is(live.status().divergence, undefined);
});

test('an epoch that grew is announced: no divergence, and everything is read again', async (t) => {
  const { lost, files, histories: told, follow } = await openWorld(t);
  const live = await follow();
  await lost.change(by, (change) => change.newEpoch());
  await live.refresh();
  t.is(live.status().divergence, undefined);
  t.deepEqual(told, [{ state: await lost.state() }]);
  t.deepEqual(readHeads(files[1]), [3], 'nothing is kept of what nobody follows');
});

function forgetFeed(file: string): void {
  const database = new Database(file);
  database.exec('delete from changes where seq < (select counter from meta)');
  database.close();
}

test('a feed that does not reach back that far is no divergence; another history behind it is one', async (t) => {
  const { kept, lost, files, become, follow } = await openWorld(t);
  const live = await follow();
  await save(lost, 'c', 'd');
  forgetFeed(files[1]);
  t.like(await lost.changesSince(live.current()), { gap: 'distance' });
  await live.refresh();
  t.is(live.status().divergence, undefined);
  t.deepEqual(names(live), ['a', 'b', 'c', 'd']);
  await save(kept, 'x', 'y', 'z');
  forgetFeed(files[0]);
  t.like(await kept.changesSince(live.current()), { gap: 'divergence' });
  become(kept);
  await live.refresh();
  t.not(live.status().divergence, undefined);
});

test('what was noted beside changes does not make it another history', async (t) => {
  const { lost, files, follow } = await openWorld(t);
  const live = await follow();
  for (let turn = 0; turn < 3; turn += 1) await lost.change(by, (change) => change.acceptClock());
  await save(lost, 'c');
  forgetFeed(files[1]);
  t.like(await lost.changesSince(live.current()), { gap: 'distance' });
});

test('who decides in a transaction of another history has what is true there, and has it noticed', async (t) => {
  const { kept, lost, become, follow } = await openWorld(t);
  await save(lost, 'lost', 'lost-too');
  const live = await follow();
  await save(kept, 'kept');
  become(kept);
  const now = await kept.view((reader) => live.at(reader.source()));
  t.deepEqual([...now.domains.keys()].map(String), ['a', 'b', 'kept']);
  await until('it is noticed', () => live.status().divergence);
  t.deepEqual(names(live), ['a', 'b', 'kept']);
  t.is(await kept.view((reader) => live.at(reader.source())), live.current(), 'and what was known is forgotten');
});

test('what was made for a transaction of the lost history is forgotten with it', async (t) => {
  const { kept, lost, become, follow } = await openWorld(t);
  await save(lost, 'lost');
  const live = await follow();
  await save(lost, 'lost-too');
  t.is((await lost.view((reader) => live.at(reader.source()))).counter, 4, 'ahead of the poll');
  await save(kept, 'kept');
  become(kept);
  await live.refresh();
  t.is(await kept.view((reader) => live.at(reader.source())), live.current());
});

test('a transaction that is older than what is known is no other history', async (t) => {
  const { lost, histories: told, follow } = await openWorld(t);
  const live = await follow();
  const before = await contentsOf(lost);
  const older: SnapshotSource = {
    state: async () => before.state,
    changesSince: async () => ({ gap: 'divergence', state: before.state }),
    everything: (work) => work({ ...before, domains: packedParts(before.domains) }),
  };
  await save(lost, 'c');
  await live.refresh();
  const then = await live.at(older);
  t.deepEqual([...then.domains.keys()].map(String), ['a', 'b']);
  await live.refresh();
  t.is(live.status().divergence, undefined);
  t.deepEqual(told, []);
});

const silent = createLogger('silent');

test('servers that end it by themselves begin one epoch, and try again when they cannot', async (t) => {
  const { kept, lost, become, follow } = await openWorld(t);
  await save(lost, 'lost');
  let fails = 2;
  const store: Pick<Store, 'change'> = {
    change: (context, work) => {
      fails -= 1;
      return fails < 0 ? kept.change(context, work) : Promise.reject(new StoreUnavailableError('it is away'));
    },
  };
  const whileDiverged = endDivergence({ store, logger: silent });
  const servers = await Promise.all([1, 2, 3].map(() => follow({ refreshIntervalMs: 10, whileDiverged })));
  await save(kept, 'kept');
  const { counter } = await kept.state();
  become(kept);
  await until('all follow the new epoch', () => servers.every((live) => live.current().epoch === 2));
  for (const live of servers) t.is(live.status().divergence, undefined);
  t.like(await kept.state(), { epoch: 2, counter: counter + 1 });
  const [record] = await kept.audit({ limit: 1 });
  t.like(record, { action: 'new-epoch', actor: 'signet serve' });
});

test('the log names both states, shortened', async (t) => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  const state = { epoch: 1, counter: 5, head: 'f'.repeat(64) };
  const known = { epoch: 1, counter: 6, head: 'e'.repeat(64) };
  logHistory({ state, divergence: { known, found: state, epoch: 1 } }, logger);
  logHistory({ state: { ...state, epoch: 2 } }, logger);
  const [diverged, begun] = lines.map((line) => JSON.parse(line));
  t.like(diverged, {
    level: 'error',
    known: { epoch: 1, counter: 6, head: 'e'.repeat(12) },
    found: { epoch: 1, counter: 5, head: 'f'.repeat(12) },
  });
  t.regex(diverged.msg, /^store-diverged: .*`signet store new-epoch`$/);
  t.like(begun, { level: 'info', found: { epoch: 2, counter: 5 } });
});
