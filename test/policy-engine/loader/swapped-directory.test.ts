import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import { createTestAuthority, type TestBundleInput } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { internals } from '../../limits/row.ts';

/* Policy directories that are swapped as a whole: events follow the directory that was there before. */

type WatchModule = typeof import('../../../policy-engine/src/loader/watch.ts');

const hour = 3_600_000;

/** A bundle of `catalog` that allows reading of one resource: which one tells the bundles apart. */
function reading(resource: string, version: number): TestBundleInput {
  const assertions = [{ role: 'reader', action: 'read', resource }];
  return { domain: 'catalog', version, policies: [{ name: 'catalog:policy.p', assertions }] };
}

interface World {
  /** Where the directories are. */
  readonly top: string;
  /** Path that the engine was given. */
  readonly path: string;
  /** Makes a directory with one bundle. */
  fill(name: string, resource: string, version: number): Promise<string>;
  /** An engine whose slow look is far away: only the check of the place, or an event, can notice something. */
  open(): Promise<PolicyEngine>;
}

async function world(t: ExecutionContext): Promise<World> {
  const top = temporaryFolder(t);
  const authority = await createTestAuthority();
  const path = join(top, 'policy');
  return {
    top,
    path,
    fill: async (name, resource, version) => {
      const folder = join(top, name);
      mkdirSync(folder, { recursive: true });
      await authority.writeBundle(folder, reading(resource, version));
      return folder;
    },
    open: async () => {
      const { clock } = authority;
      const engine = await PolicyEngine.open({ policyDir: path, clock, rescanIntervalMs: hour });
      t.teardown(() => engine.close());
      return engine;
    },
  };
}

function inForce(engine: PolicyEngine): string {
  const status = (resource: string) =>
    engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource }).status;
  return ['movie', 'series', 'film'].find((resource) => status(resource) === 'ALLOW') ?? status('movie');
}

/** A link in the place of another in one step, as `ln -sfn` with a rename does it. */
function link(target: string, path: string): void {
  symlinkSync(target, `${path}.next`);
  renameSync(`${path}.next`, path);
}

interface Swap {
  readonly note: string;
  prepare(w: World): Promise<void>;
  /** Puts another directory, with `series` under a higher version, in the place of the first. */
  swap(w: World): Promise<void> | void;
  /** The file that is then in force. */
  readonly file: string;
}

const swaps: readonly Swap[] = [
  {
    note: 'a link to a directory that leads to another',
    prepare: async (w) => {
      await w.fill('one', 'movie', 5);
      await w.fill('two', 'series', 6);
      link('one', w.path);
    },
    swap: (w) => link('two', w.path),
    file: 'two/catalog.pol',
  },
  {
    note: 'a link to a link, of which the second is changed',
    prepare: async (w) => {
      await w.fill('one', 'movie', 5);
      await w.fill('two', 'series', 6);
      link('one', join(w.top, 'current'));
      link('current', w.path);
    },
    swap: (w) => link('two', join(w.top, 'current')),
    file: 'two/catalog.pol',
  },
  {
    note: 'the files of a Kubernetes volume, links through `..data`',
    prepare: async (w) => {
      await w.fill('policy/..one', 'movie', 5);
      link('..one', join(w.path, '..data'));
      for (const name of ['catalog.pol', 'keys.json']) link(`..data/${name}`, join(w.path, name));
    },
    swap: async (w) => {
      await w.fill('policy/..two', 'series', 6);
      link('..two', join(w.path, '..data'));
    },
    file: 'policy/..two/catalog.pol',
  },
  {
    note: 'a link in the directory to a file below another link',
    prepare: async (w) => {
      await w.fill('one', 'movie', 5);
      await w.fill('two', 'series', 6);
      link('one', join(w.top, 'current'));
      mkdirSync(w.path);
      for (const name of ['catalog.pol', 'keys.json']) link(`../current/${name}`, join(w.path, name));
    },
    swap: (w) => link('two', join(w.top, 'current')),
    file: 'two/catalog.pol',
  },
  {
    note: 'a directory that another is renamed to',
    prepare: async (w) => {
      await w.fill('policy', 'movie', 5);
      await w.fill('two', 'series', 6);
    },
    swap: (w) => {
      renameSync(w.path, join(w.top, 'old'));
      renameSync(join(w.top, 'two'), w.path);
    },
    file: 'policy/catalog.pol',
  },
  {
    note: 'two directories that are exchanged in one step',
    prepare: async (w) => {
      await w.fill('policy', 'movie', 5);
      await w.fill('two', 'series', 6);
    },
    swap: async (w) => {
      const exchange = `import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))`;
      const { status } = await runProgram('python3', ['-c', exchange, w.path, join(w.top, 'two')]);
      if (status !== 0) throw new Error('renameat2 cannot be called');
    },
    file: 'policy/catalog.pol',
  },
  {
    note: 'a directory that is deleted and made again',
    prepare: async (w) => void (await w.fill('policy', 'movie', 5)),
    swap: async (w) => {
      rmSync(w.path, { recursive: true });
      await w.fill('policy', 'series', 6);
    },
    file: 'policy/catalog.pol',
  },
];

for (const { note, prepare, swap, file } of swaps) {
  test(`is noticed, and followed from then on: ${note}`, async (t) => {
    const w = await world(t);
    await prepare(w);
    const engine = await w.open();
    t.is(inForce(engine), 'movie');
    await swap(w);
    await until('the other directory is in force', () => inForce(engine) === 'series', 60_000);
    t.true(engine.health().ok);
    // Written in place: the list of names stays as it is, so only an event tells of it.
    const next = await w.fill('next', 'film', 7);
    writeFileSync(join(w.top, file), readFileSync(join(next, 'catalog.pol')));
    await until('the new file in it is in force', () => inForce(engine) === 'film', 60_000);
    t.true(engine.health().ok);
  });
}

test('a file that is written in place right after opening is noticed', async (t) => {
  const w = await world(t);
  await w.fill('policy', 'movie', 5);
  const next = readFileSync(join(await w.fill('next', 'film', 6), 'catalog.pol'));
  const engine = await w.open();
  // In the turn in which the engine is open: before any event of the directory can be followed.
  writeFileSync(join(w.path, 'catalog.pol'), next);
  await until('the new file is in force', () => inForce(engine) === 'film', 60_000);
  t.true(engine.health().ok);
});

test('a swap brings no older bundle, and leaves the last good one in force', async (t) => {
  const w = await world(t);
  await w.fill('one', 'movie', 5);
  await w.fill('two', 'series', 4);
  link('one', w.path);
  const engine = await w.open();
  link('two', w.path);
  await until('the fault is told', () => engine.health().domains[0]?.error?.code === 'bundle-rollback', 60_000);
  t.is(inForce(engine), 'movie');
});

test('a swap to a directory that others may write to is not followed', async (t) => {
  const w = await world(t);
  await w.fill('one', 'movie', 5);
  const two = await w.fill('two', 'series', 6);
  chmodSync(two, 0o777);
  link('one', w.path);
  const engine = await w.open();
  link('two', w.path);
  await until('the fault is told', () => engine.health().error?.code === 'directory-unsafe', 60_000);
  t.is(inForce(engine), 'movie');
});

test('while there is no directory the last good policy stays in force, and health tells it', async (t) => {
  const w = await world(t);
  await w.fill('policy', 'movie', 5);
  const engine = await w.open();
  renameSync(w.path, join(w.top, 'away'));
  await until('the fault is told', () => engine.health().error?.code === 'bundle-unreadable', 60_000);
  t.is(inForce(engine), 'movie');
  await w.fill('away', 'series', 6);
  renameSync(join(w.top, 'away'), w.path);
  await until('what came back is in force', () => inForce(engine) === 'series', 60_000);
  await until('health says so', () => engine.health().ok, 60_000);
});

/** A watch whose timers the test fires, and how often it has looked. */
async function manualWatch(t: ExecutionContext, directory: string, events = true) {
  const { Watch, placeCheckMs } = await internals<WatchModule>('policy-engine/src/loader/watch.ts');
  const timers = new Map<number, () => void>();
  let looks = 0;
  const watching = await Watch.start(directory, {
    scan: async () => {
      looks += 1;
    },
    intervalMs: hour,
    events,
    every: (interval, act) => {
      timers.set(interval, act);
      return () => timers.delete(interval);
    },
  });
  t.teardown(() => watching.close());
  return { watching, timers, placeCheckMs, looks: () => looks };
}

/** A watch that follows events: it has looked once since. */
async function followingWatch(t: ExecutionContext, directory: string) {
  const watch = await manualWatch(t, directory);
  await until('it has looked', () => watch.looks() === 1);
  return watch;
}

test('a check of what did not change leads to no look', async (t) => {
  const w = await world(t);
  await w.fill('one', 'movie', 5);
  await w.fill('two', 'series', 6);
  link('one', w.path);
  const { watching, looks } = await followingWatch(t, w.path);
  for (const _ of [1, 2, 3]) await watching.check();
  t.is(looks(), 1);
  link('two', w.path);
  await watching.check();
  await until('it has looked for the check, and once events of the other directory are followed', () => looks() === 3);
  await watching.check();
  t.is(looks(), 3);
});

test('the place is checked often enough for five seconds, and nothing goes on after the end', async (t) => {
  const w = await world(t);
  await w.fill('policy', 'movie', 5);
  const { watching, timers, placeCheckMs } = await manualWatch(t, w.path);
  t.deepEqual([...timers.keys()].sort(), [placeCheckMs, hour].sort());
  t.true(placeCheckMs <= 2500);
  await watching.close();
  t.is(timers.size, 0);
});

test('without events there is the slow look only', async (t) => {
  const w = await world(t);
  await w.fill('policy', 'movie', 5);
  const { timers, looks, watching } = await manualWatch(t, w.path, false);
  t.deepEqual([...timers.keys()], [hour]);
  timers.get(hour)?.();
  await watching.now();
  t.is(looks(), 2);
});

const { linksPerCheck } = await internals<typeof import('../../../policy-engine/src/loader/place.ts')>(
  'policy-engine/src/loader/place.ts',
);

test('as many links as a check looks at are checked, and one more waits for the slow look', async (t) => {
  const w = await world(t);
  mkdirSync(w.path);
  mkdirSync(join(w.top, 'one'));
  mkdirSync(join(w.top, 'two'));
  link('one', join(w.top, 'last'));
  link('one', join(w.top, 'beyond'));
  for (let index = 1; index < linksPerCheck; index += 1) symlinkSync('../one', join(w.path, `a${index}`));
  symlinkSync('../last', join(w.path, 'b'));
  symlinkSync('../beyond', join(w.path, 'c'));
  const { watching, looks } = await followingWatch(t, w.path);
  link('two', join(w.top, 'beyond'));
  await watching.check();
  t.is(looks(), 1);
  link('two', join(w.top, 'last'));
  await watching.check();
  t.is(looks(), 2);
});
