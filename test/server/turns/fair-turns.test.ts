import { FairTurns } from '@signet/server/turns/fair-turns';
import { laneOf } from '@signet/server/turns/lane-of';
import test from 'ava';

test('one thing at a time; lanes take turns, also after one that fails', async (t) => {
  const turns = new FairTurns();
  const order: string[] = [];
  let running = 0;
  const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((item) =>
    turns.run(item.slice(0, 1), async () => {
      running += 1;
      t.is(running, 1);
      order.push(item);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (item === 'b1') throw new Error(item);
      return item;
    }),
  );
  const answers = await Promise.allSettled(asked);
  t.deepEqual(order, ['a1', 'b1', 'a2', 'c1', 'b2', 'a3', 'a4']);
  t.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason))),
    ['a1', 'a2', 'a3', 'a4', 'Error: b1', 'b2', 'c1'],
  );
  t.is(await turns.run('a', async () => 'later'), 'later');
});

for (const [caller, lane] of [
  ['media.player', 'media'],
  ['a.b.c', 'a.b'],
  ['user.ann', 'user.ann'],
  ['signet serve', 'signet serve'],
  ['.x', '.x'],
] as const) {
  test(`the lane of ${caller} is ${lane}`, (t) => {
    t.is(laneOf(caller), lane);
  });
}
