import { watchForStandstill } from '@signet/server/store-watch/stood-still';
import test from 'ava';
import { FakeClock } from '#support/clock';

function watched(refresh: () => Promise<unknown> = async () => undefined) {
  const [clock, steady] = [new FakeClock(), new FakeClock(0)];
  const counts = { looks: 0 };
  const watch = watchForStandstill({
    clock,
    monotonic: () => steady.now(),
    refreshIntervalMs: 2000,
    refresh: () => {
      counts.looks += 1;
      return refresh();
    },
  });
  return { clock, steady, counts, watch };
}

for (const [what, pass] of [
  ['a stop', ({ clock, steady }) => [clock, steady].forEach((each) => void each.advance(4001))],
  ['a sleep, in which one clock stands still', ({ clock }) => clock.advance(4001)],
  ['a stop in which the clock was set back', ({ steady }) => steady.advance(4001)],
] as const satisfies readonly (readonly [string, (world: ReturnType<typeof watched>) => void])[]) {
  test(`after ${what} the store is looked at before anything is decided`, async (t) => {
    const look = Promise.withResolvers<void>();
    const world = watched(() => look.promise);
    using watch = world.watch;
    t.is(watch.catchUp(), undefined);
    pass(world);
    const [first, second] = [watch.catchUp(), watch.catchUp()];
    t.truthy(first);
    t.is(first, second, 'what comes meanwhile waits for the same look');
    t.is(world.counts.looks, 1);
    look.resolve();
    await first;
    t.is(watch.catchUp(), undefined);
    t.is(world.counts.looks, 1);
  });
}

test('while the process goes on nothing is waited for, and a clock that is set back is none', (t) => {
  const world = watched();
  using watch = world.watch;
  for (let second = 0; second < 10; second += 1) {
    for (const each of [world.clock, world.steady]) each.advance(4000);
    t.is(watch.catchUp(), undefined);
  }
  world.clock.advance(-3_600_000);
  t.is(watch.catchUp(), undefined);
  t.is(world.counts.looks, 0);
});

test('a store that cannot be read is waited for once', async (t) => {
  const world = watched(() => Promise.reject(new Error('away')));
  using watch = world.watch;
  world.steady.advance(10_000);
  await t.notThrowsAsync(watch.catchUp() ?? Promise.reject(new Error('nothing')));
  t.is(watch.catchUp(), undefined);
});
