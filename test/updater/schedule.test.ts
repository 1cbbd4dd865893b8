import { pollOffset } from '@signet/updater/offset';
import { startSchedule } from '@signet/updater/schedule';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { until } from '#support/until';

test('a host polls at the same instant of every minute', (t) => {
  t.is(pollOffset('host-1', '/var/lib/signet/policy'), pollOffset('host-1', '/var/lib/signet/policy'));
  t.not(pollOffset('host-1', '/var/lib/signet/policy'), pollOffset('host-2', '/var/lib/signet/policy'));
  t.not(pollOffset('host-1', '/a'), pollOffset('host-1', '/b'));
  // a value that must not change: it would move every host at once
  t.is(pollOffset('host-1', '/var/lib/signet/policy'), 45_638);
});

test('ten thousand hosts spread over the minute', (t) => {
  const perSecond = Array.from({ length: 60 }, () => 0);
  for (let host = 0; host < 10_000; host += 1) {
    const second = Math.floor(pollOffset(`host-${host}.example`, '/policy') / 1000);
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  t.true(Math.max(...perSecond) <= 1.3 * (10_000 / 60), `${Math.max(...perSecond)}`);
});

/** Work that is under way until `finish` is called. */
function slowWork() {
  let running = 0;
  let most = 0;
  let done = 0;
  const waiting: (() => void)[] = [];
  return {
    work: async (signal: AbortSignal) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      running -= 1;
      done += 1;
    },
    finish: () => waiting.shift()?.(),
    facts: () => ({ running, most, done }),
  };
}

/** An offset half a minute away: cron itself stays out of the test. */
function farOffset(): number {
  return (performance.timeOrigin + performance.now() + 30_000) % 60_000;
}

test('runs asked for during a run become one run after it', async (t) => {
  const { work, finish, facts } = slowWork();
  const schedule = startSchedule({ offset: farOffset(), work, clock: new FakeClock() });
  t.teardown(() => schedule.stop());
  const first = schedule.runNow();
  const second = schedule.runNow();
  const third = schedule.runNow();
  t.is(second, third);
  finish();
  await first;
  await until('the second is under way', () => facts().running === 1);
  finish();
  await second;
  t.deepEqual(facts(), { running: 0, most: 1, done: 2 });
});

test('cron runs the work at its offset, and not again while it is under way', async (t) => {
  const { work, facts } = slowWork();
  const soon = (performance.timeOrigin + performance.now() + 1500) % 60_000;
  const schedule = startSchedule({ offset: soon, work, clock: new FakeClock() });
  await until('cron has run it', () => facts().running === 1);
  await schedule.stop();
  t.deepEqual(facts(), { running: 0, most: 1, done: 1 });
});

test('polls soon after the machine slept', async (t) => {
  const clock = new FakeClock();
  const { work, facts } = slowWork();
  const schedule = startSchedule({ offset: farOffset(), work, clock, wakeInterval: 10 });
  t.is(facts().running, 0);
  clock.advance(8 * 3_600_000);
  await until('it polls', () => facts().running === 1);
  await schedule.stop();
});

test('a clock that is set back starts nothing', async (t) => {
  const clock = new FakeClock();
  let looks = 0;
  const counting = {
    now: () => {
      looks += 1;
      return clock.now();
    },
  };
  const { work, facts } = slowWork();
  const schedule = startSchedule({ offset: farOffset(), work, clock: counting, wakeInterval: 10 });
  clock.advance(-3_600_000);
  const before = looks;
  await until('it has looked again', () => looks > before + 2);
  t.is(facts().running, 0);
  await schedule.stop();
});

test('stop aborts the run under way, waits for it, and starts no other', async (t) => {
  const { work, facts } = slowWork();
  const schedule = startSchedule({ offset: farOffset(), work, clock: new FakeClock() });
  void schedule.runNow();
  const queued = schedule.runNow();
  await schedule.stop();
  await queued;
  t.deepEqual(facts(), { running: 0, most: 1, done: 1 });
  await schedule.runNow();
  t.deepEqual(facts(), { running: 0, most: 1, done: 1 });
});
