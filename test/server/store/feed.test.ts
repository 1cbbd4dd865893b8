import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DomainName } from '@signet/policy-engine/names';
import { isGap } from '@signet/server/model/snapshot-source';
import type { Store, StoreChanges } from '@signet/server/model/store';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import { type LiveSnapshot, openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import type { DomainSnapshot, Snapshot } from '@signet/server/snapshot/snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { differences, readFeed, readFollowed, readHeads } from '#support/feed-rows';
import { randomFrom } from '#support/random';
import { type RandomWorld, randomChanges, systemDomain, tryChange } from '#support/random-changes';
import { saveDomain } from '#support/save-domain';
import { serialisedSnapshot } from '#support/serialised-snapshot';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const never = 3_600_000;

interface World extends RandomWorld {
  readonly clock: FakeClock;
  readonly file: string;
  /** Follows only now and then. */
  readonly slow: LiveSnapshot;
  /** Changes told to the followers. */
  readonly told: readonly StoreChanges[];
}

async function openWorld(t: ExecutionContext, seed: number): Promise<World> {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const clock = new FakeClock();
  const store = await openSqliteStore(file, { clock });
  await store.change({ actor: 'test' }, (change) => saveDomain(change, systemDomain));
  const told: StoreChanges[] = [];
  const source = {
    state: () => store.state(),
    changesSince: async (...known: Parameters<Store['changesSince']>) => {
      const changes = await store.changesSince(...known);
      if (!isGap(changes)) told.push(changes);
      return changes;
    },
    everything: store.everything.bind(store),
  };
  const [live, slow] = await Promise.all([
    openLiveSnapshot({ store: source, clock, refreshIntervalMs: never }),
    openLiveSnapshot({ store: source, clock, refreshIntervalMs: never }),
  ]);
  told.length = 0;
  t.teardown(async () => {
    await live.close();
    await slow.close();
    await store.close();
  });
  return { store, live, slow, clock, random: randomFrom(seed), folder, file, told };
}

async function fresh(store: Store): Promise<string> {
  return serialisedSnapshot(compileSnapshot(undefined, await contentsOf(store)).snapshot);
}

function shuffled(items: readonly string[], random: (below: number) => number): string[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random(left.length), 1));
}

const names = [...randomChanges.keys()];
const changed = new Map<number, ReadonlySet<string>>();
const seeds = [11, 12, 13];

for (const seed of seeds) {
  test.serial(
    `every change says in the feed what it touched, and followers have what a new reader has (seed ${seed})`,
    async (t) => {
      const world = await openWorld(t, seed);
      const { store, live, slow, file, random } = world;
      const seen = new Set<string>();
      let [state, rows] = [await store.state(), readFollowed(file)];
      const bundles = new Map(live.current().domains);
      const order = Array.from({ length: 6 }, () => shuffled(names, random)).flat();
      for (const [step, name] of order.entries()) {
        world.clock.advance(random(3) * 1000);
        const before = live.current();
        await tryChange(world, name);
        const [next, now] = [await store.state(), readFollowed(file)];
        const expected = differences(rows, now);
        if (next.counter === state.counter) {
          t.deepEqual([expected, next], [[], state], `${name} changed something without a change`);
        } else {
          t.is(next.counter, state.counter + 1, name);
          t.not(next.head, state.head, name);
          t.deepEqual(missing(readFeed(file, next.counter), expected), [], `${name} does not say so (step ${step})`);
          seen.add(name);
        }
        [state, rows] = [next, now];
        await live.refresh();
        holdsVersions(t, bundles, [before, live.current()], name);
        if (random(5) === 0) await slow.refresh();
        const whole = await fresh(store);
        t.is(serialisedSnapshot(live.current()), whole, `after ${name} (step ${step})`);
        if (slow.current().counter === next.counter) t.is(serialisedSnapshot(slow.current()), whole);
      }
      changed.set(seed, seen);
      t.true(
        world.told.every(({ since }) => since !== undefined),
        'the feed was followed all the time',
      );
      t.true(world.told.flatMap(({ updates }) => updates ?? []).length > 30);
    },
  );
}

/**
 * Requires one text in bundles for each policy version; and no version for a change that bundles do not carry. `known` has every domain that was
 * ever seen.
 */
function holdsVersions(
  t: ExecutionContext,
  known: Map<DomainName, DomainSnapshot>,
  [before, after]: readonly [Snapshot, Snapshot],
  change: string,
): void {
  const untimed = ({ policies }: DomainSnapshot) => policies.map(({ modified: _, ...policy }) => policy);
  for (const [name, domain] of after.domains) {
    const [last, previous] = [known.get(name), before.domain(name)];
    if (last?.policyVersion === domain.policyVersion) {
      t.deepEqual([last.policies, last.policyModified], [domain.policies, domain.policyModified], name);
    } else {
      t.true(domain.policyVersion > (last?.policyVersion ?? 0), name);
      if (previous !== undefined) t.notDeepEqual(untimed(domain), untimed(previous), `${change}: ${name}`);
    }
    known.set(name, domain);
  }
}

/** Expected entries without a row; a domain that was deleted and everything of it need not be named one by one. */
function missing(said: readonly string[], expected: readonly string[]): string[] {
  const known = new Set(said);
  return expected.filter((text) => {
    const [domain, kind, key] = text.split(' ');
    const isCovered =
      (kind === 'domain' && key === 'lists' && known.has(`${domain} domain `)) ||
      (kind === 'member' && known.has(`${domain} members `));
    return !(isCovered || known.has(text));
  });
}

/** Records that change nothing which a snapshot shows, and no counter. */
const quiet = [
  'recordCertificate',
  'recordForeignRefresh',
  'noteRefusedCredentials',
  'acceptClock',
  'addRequest',
  'saveRequest',
  'certificates',
];

test.serial('each kind of change was among the random ones', (t) => {
  const seen = new Set([...changed.values()].flatMap((set) => [...set]));
  t.deepEqual(
    names.filter((name) => !seen.has(name)),
    quiet,
  );
});

const writer = fileURLToPath(import.meta.resolve('#support/feed-writer'));

test.serial('two processes write at once, a third follows: it has what a new reader has', async (t) => {
  const { file, folder, store, live, told } = await openWorld(t, 1);
  const first = live.current().counter;
  const start = async (seed: number): Promise<ChildProcess> => {
    const own = join(folder, `writer-${seed}`);
    mkdirSync(own);
    const child = fork(writer, [file, own, `${seed}`, '120'], { execArgv: ['--conditions=@signet/source'] });
    t.teardown(() => child.kill('SIGKILL'));
    await once(child, 'message');
    return child;
  };
  const writers = await Promise.all([start(21), start(22)]);
  let running = writers.length;
  const ends = writers.map(async (child) => {
    const ended = once(child, 'exit');
    child.send('begin');
    t.deepEqual(await ended, [0, null]);
    running -= 1;
  });
  while (running > 0) await live.refresh();
  await Promise.all(ends);
  await live.refresh();
  const { counter } = await store.state();
  t.true(counter > first + 30, `${counter - first} changes`);
  t.is(serialisedSnapshot(live.current()), await fresh(store));
  t.true(told.length > 1, 'the changes came one after the other');
  t.true(
    told.every(({ since }) => since !== undefined),
    'and all were followed',
  );
  const heads = readHeads(file);
  const [oldest = counter + 1] = heads;
  // Those before the last new epoch are gone.
  t.deepEqual(
    heads,
    Array.from({ length: counter - oldest + 1 }, (_, index) => oldest + index),
    'one head for each change, without a gap',
  );
  t.is(heads.at(-1), counter);
});
