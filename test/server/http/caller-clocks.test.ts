import { formatHttpDate } from '@signet/policy-engine/clock';
import { type CallersTime, watchCallerClocks } from '@signet/server/http/caller-clocks';
import test from 'ava';
import { FakeClock } from '#support/clock';

function watched() {
  const clock = new FakeClock(1_767_225_600_000);
  const told: CallersTime[] = [];
  const watch = watchCallerClocks({ clock, onChange: (time) => told.push(time) });
  const say = (callers: number, offsetMs: number, from = 0) => {
    for (let index = from; index < from + callers; index += 1) {
      watch.note(`media.c${index}`, formatHttpDate(clock.now() + offsetMs));
    }
  };
  return { watch, told, say, clock };
}

test('most callers of a minute have another time: told once, and once when they have it no longer', (t) => {
  const { watch, told, say } = watched();
  say(2, 61_000);
  say(2, 60_000, 2);
  watch.look();
  t.deepEqual([told, watch.disagree()], [[], false], 'half of them are not most');
  for (let minute = 0; minute < 3; minute += 1) {
    say(3, -61_000);
    say(2, 0, 3);
    watch.look();
    t.true(watch.disagree());
  }
  watch.look();
  t.true(watch.disagree(), 'without callers nothing is known');
  say(1, 0);
  watch.look();
  t.deepEqual(told, [
    { disagrees: true, callers: 5, disagreeing: 3 },
    { disagrees: false, callers: 1, disagreeing: 0 },
  ]);
  watch[Symbol.dispose]();
});

test('a caller counts once, what is no date not at all, and a thousand are enough', (t) => {
  const { watch, told, say } = watched();
  say(1, 90_000);
  for (let request = 0; request < 9; request += 1) say(1, 90_000);
  say(1, 0, 1);
  for (const date of ['', 'now', '2026-01-01T00:00:00Z', 'Thu, 32 Jan 2026 00:00:00 GMT']) watch.note('media.x', date);
  watch.look();
  t.deepEqual(told, []);
  say(1000, 0);
  say(5000, 90_000, 1000);
  watch.look();
  t.deepEqual(told, []);
  watch[Symbol.dispose]();
});
