import { execFile } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseDomainName } from '@signet/policy-engine/names';
import { StoreUnavailableError } from '@signet/server/errors';
import type { DomainContent } from '@signet/server/model/records';
import type {
  Knows,
  SnapshotSource,
  Store,
  StoreChanges,
  StoreContents,
  StoreGap,
  StoreState,
} from '@signet/server/model/store';
import { type LiveSnapshot, openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent, stored } from '#support/domains';
import { packedParts } from '#support/packed-parts';
import { saveDomain } from '#support/save-domain';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const by = { actor: 'test' };
const catalog = parseDomainName('catalog');
const never = 3_600_000;

interface World {
  readonly file: string;
  readonly store: Store;
  readonly live: LiveSnapshot;
  readonly clock: FakeClock;
  readonly errors: unknown[];
  save(...contents: readonly DomainContent[]): Promise<void>;
}

async function openWorld(t: ExecutionContext, refreshIntervalMs = never): Promise<World> {
  const file = join(temporaryFolder(t), 'signet.db');
  const clock = new FakeClock();
  const store = await openSqliteStore(file, { clock });
  const errors: unknown[] = [];
  const live = await openLiveSnapshot({ store, clock, refreshIntervalMs, onError: (error) => errors.push(error) });
  t.teardown(async () => {
    await live.close();
    await store.close();
  });
  const save = (...contents: readonly DomainContent[]) =>
    store.change(by, async (change) => {
      for (const content of contents) await saveDomain(change, content);
    });
  return { file, store, live, clock, errors, save };
}

const names = (live: LiveSnapshot) => [...live.current().domains.keys()].map(String).sort();

test('a change is in the snapshot after a refresh, unchanged domains are shared', async (t) => {
  const { live, save } = await openWorld(t);
  await save(domainContent('a'), domainContent('catalog', { roles: { reader: ['media.player'] } }));
  t.deepEqual(names(live), []);
  await live.refresh();
  t.deepEqual(names(live), ['a', 'catalog']);
  const first = live.current();
  await save(domainContent('catalog', { roles: { reader: [] }, rules: ['allow read movie reader'] }));
  await live.refresh();
  const second = live.current();
  t.is(second.domain(parseDomainName('a')), first.domain(parseDomainName('a')));
  t.not(second.domain(catalog), first.domain(catalog));
  t.is(first.domain(catalog)?.policyVersion, 1);
  t.is(second.domain(catalog)?.policyVersion, 2);
  t.is(second.counter, 2);
  t.true(Object.isFrozen(second));
});

test('a refresh without a change keeps the very snapshot, and notes the time', async (t) => {
  const { live, clock } = await openWorld(t);
  const before = live.current();
  clock.advance(5000);
  await live.refresh();
  t.is(live.current(), before);
  t.deepEqual(live.status(), { counter: 0, isStoreReadable: true, refreshedAt: clock.now() });
});

test('deleted and disabled domains leave, and come back', async (t) => {
  const { live, store, save } = await openWorld(t);
  await save(domainContent('a'), domainContent('b'), domainContent('c', { enabled: false }));
  await live.refresh();
  t.deepEqual(names(live), ['a', 'b']);
  t.deepEqual([...live.current().disabledDomains].map(String), ['c']);
  await store.change(by, async (change) => {
    await change.deleteDomain(parseDomainName('a'));
    await saveDomain(change, domainContent('b', { enabled: false }));
    await saveDomain(change, domainContent('c'));
  });
  await live.refresh();
  t.deepEqual(names(live), ['c']);
  t.deepEqual([...live.current().disabledDomains].map(String), ['b']);
  await store.change(by, async (change) => {
    await change.deleteDomain(parseDomainName('b'));
    await saveDomain(change, domainContent('a'));
  });
  await live.refresh();
  t.deepEqual(names(live), ['a', 'c']);
  t.deepEqual([...live.current().disabledDomains], []);
  t.is(live.current().domain(parseDomainName('a'))?.policyVersion, 3);
});

test('listeners hear of each swap, and of nothing else; a fault of one stops nobody', async (t) => {
  const { live, save, errors } = await openWorld(t);
  const heard: number[] = [];
  const fault = new Error('listener');
  live.onSwap(() => {
    throw fault;
  });
  live.onSwap((snapshot) => heard.push(snapshot.counter));
  await live.refresh();
  await save(domainContent('a'));
  await live.refresh();
  await live.refresh();
  await save(domainContent('b'));
  await live.refresh();
  t.deepEqual(heard, [1, 2]);
  t.deepEqual(errors, [fault, fault]);
});

test('a refresh that is asked for while one runs sees what was changed before it was asked for', async (t) => {
  const { live, save } = await openWorld(t);
  const running = live.refresh();
  await save(domainContent('a'));
  await Promise.all([live.refresh(), live.refresh()]);
  t.deepEqual(names(live), ['a']);
  await running;
});

test('a change of another process is seen within the refresh interval', async (t) => {
  const { file, live } = await openWorld(t, 50);
  const script = join(temporaryFolder(t), 'write.ts');
  const from = (path: string) => JSON.stringify(import.meta.resolve(path));
  writeFileSync(
    script,
    `import { openSqliteStore } from ${from('@signet/server/store/sqlite/open-sqlite')};
     import { domainContent } from ${from('#support/domains')};
     import { saveDomain } from ${from('#support/save-domain')};
     const store = await openSqliteStore(${JSON.stringify(file)});
     await store.change({ actor: 'child' }, (change) => saveDomain(change, domainContent('catalog')));
     await store.close();`,
  );
  await promisify(execFile)(process.execPath, ['--conditions=@signet/source', script]);
  await until('the snapshot has the domain', () => live.current().domain(catalog));
  t.is(live.status().counter, 1);
});

test('the store goes away: answers go on and the status says so; it comes back: nothing is left of it', async (t) => {
  const { file, live, clock, save, errors } = await openWorld(t, 20);
  await save(domainContent('catalog'));
  await until('the snapshot has the domain', () => live.current().domain(catalog));
  const seen = clock.now();
  renameSync(file, `${file}.away`);
  await until('the status has an error', () => live.status().error);
  clock.advance(60_000);
  await t.throwsAsync(live.refresh(), { instanceOf: StoreUnavailableError });
  t.deepEqual(live.status(), {
    counter: 1,
    isStoreReadable: false,
    refreshedAt: seen,
    error: 'the file of the store is gone',
  });
  t.is(live.current().domain(catalog)?.policyVersion, 1);
  t.true(errors.length > 0);
  renameSync(`${file}.away`, file);
  await until('the error is gone', () => live.status().error === undefined);
  t.true(live.status().refreshedAt > seen);
  await save(domainContent('catalog', { roles: { reader: [] }, rules: ['allow read movie reader'] }));
  await until('the change is seen', () => live.current().domain(catalog)?.policyVersion === 2);
});

test('garbage in the place of the store: answers go on', async (t) => {
  const { file, live, save } = await openWorld(t, 20);
  await save(domainContent('catalog'));
  await live.refresh();
  renameSync(file, `${file}.away`);
  writeFileSync(file, 'garbage '.repeat(1000), { mode: 0o600 });
  await until('the status has an error', () => live.status().error);
  t.is(live.status().error, 'the store is corrupt');
  t.deepEqual(names(live), ['catalog']);
  renameSync(`${file}.away`, file);
  await until('the error is gone', () => live.status().error === undefined);
});

/** A store whose answers are set by hand. */
class FixedSource implements SnapshotSource {
  at: StoreState = { epoch: 1, counter: 1, head: '' };
  asked: number[] = [];
  knows: boolean[] = [];
  domains: readonly DomainContent[] = [];

  async state(): Promise<StoreState> {
    return this.at;
  }

  async changesSince(known: StoreState, knows: Knows = () => false): Promise<StoreChanges | StoreGap> {
    this.asked.push(known.counter);
    this.knows.push(knows(catalog));
    const follows = known.epoch === this.at.epoch && known.counter <= this.at.counter && known.head === this.at.head;
    if (follows) return { ...(await contentsOf(this)), since: known };
    return { gap: known.epoch < this.at.epoch ? 'restart' : 'divergence', state: this.at };
  }

  async everything<Result>(work: (contents: StoreContents) => Promise<Result>): Promise<Result> {
    const all = this.domains.map((content) => stored(content));
    return work({ state: this.at, domains: packedParts(all), signingKeys: [] });
  }
}

const restores: readonly [string, StoreState, readonly string[]][] = [
  ['the counter grows', { epoch: 1, counter: 7, head: '' }, ['new', 'old']],
  ['the epoch grows', { epoch: 2, counter: 7, head: '' }, ['new']],
  ['the counter goes back', { epoch: 1, counter: 4, head: '' }, ['new']],
  ['the history is another one', { epoch: 1, counter: 5, head: 'other' }, ['new']],
];

for (const [note, at, left] of restores) {
  test(`what is left of the snapshot when ${note}`, async (t) => {
    const store = new FixedSource();
    store.at = { epoch: 1, counter: 5, head: '' };
    store.domains = [domainContent('old')];
    const live = await openLiveSnapshot({ store, clock: new FakeClock(), refreshIntervalMs: never });
    t.teardown(() => live.close());
    store.at = at;
    store.domains = [domainContent('new')];
    await live.refresh();
    t.deepEqual(store.asked, [5]);
    t.deepEqual(names(live), left);
    t.is(live.current().epoch, at.epoch);
  });
}

test('a domain that cannot be compiled stays as it was, and is named', async (t) => {
  const store = new FixedSource();
  store.domains = [domainContent('catalog', { roles: { reader: ['media.player'] } })];
  const errors: unknown[] = [];
  const live = await openLiveSnapshot({
    store,
    clock: new FakeClock(),
    refreshIntervalMs: never,
    onError: (error) => errors.push(error),
  });
  t.teardown(() => live.close());
  store.at = { epoch: 1, counter: 2, head: '' };
  const broken = domainContent('catalog', { rules: ['allow read movie reader'] });
  const policies = broken.policies.map((policy) => ({
    ...policy,
    assertions: policy.assertions.map((assertion) => ({ ...assertion, effect: 'MAYBE' as 'ALLOW' })),
  }));
  store.domains = [{ ...broken, policies }, domainContent('other')];
  await live.refresh();
  t.deepEqual(names(live), ['catalog', 'other']);
  t.is(live.current().domain(catalog)?.roles.size, 1);
  t.is(live.status().error, '1 changed domain cannot be used');
  t.is(errors.length, 1);
  // What changed since then would go on top of a domain that the snapshot does not have.
  store.at = { epoch: 1, counter: 3, head: '' };
  store.domains = [domainContent('catalog')];
  await live.refresh();
  store.at = { epoch: 1, counter: 4, head: '' };
  await live.refresh();
  t.deepEqual(store.knows, [true, false, true]);
});

test('no timer is left behind', async (t) => {
  const { live } = await openWorld(t, 10);
  await live.close();
  const counter = live.status().refreshedAt;
  await live.close();
  t.is(live.status().refreshedAt, counter);
});
