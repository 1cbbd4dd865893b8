import { runInSlices } from '@signet/policy-engine/internal/slices';
import { runAtOnce, runWithPauses, type Steps } from '@signet/policy-engine/internal/steps';
import test from 'ava';

/* Long work in slices. */

function* counting(slices: number, done: number[] = []): Steps<number> {
  for (let slice = 0; slice < slices; slice += 1) {
    done.push(slice);
    yield;
  }
  return done.length;
}

function* failing(): Steps<never> {
  yield;
  throw new Error('work failed');
}

test('in one go: every slice, and the result', (t) => {
  t.deepEqual(
    [0, 1, 5].map((slices) => runAtOnce(counting(slices))),
    [0, 1, 5],
  );
  t.throws(() => runAtOnce(failing()), { message: 'work failed' });
});

test('a pause is asked for after each slice, and waited for where there is one', async (t) => {
  const log: (number | string)[] = [];
  let asked = 0;
  const pause = () => {
    asked += 1;
    if (asked !== 2) return undefined;
    return Promise.resolve().then(() => void log.push('paused'));
  };
  t.is(await runWithPauses(counting(3, log as number[]), pause), 4);
  t.deepEqual(log, [0, 1, 'paused', 2]);
  t.is(asked, 3);
});

test('work that fails, or whose pause fails, is told', async (t) => {
  await t.throwsAsync(
    runWithPauses(failing(), () => undefined),
    { message: 'work failed' },
  );
  await t.throwsAsync(
    runWithPauses(counting(2), () => Promise.reject(new Error('pause failed'))),
    { message: 'pause failed' },
  );
  await t.throwsAsync(runInSlices(failing()), { message: 'work failed' });
});

test('others have their turn while long work runs, and short work is done in one turn', async (t) => {
  const order: string[] = [];
  function* long(): Steps<void> {
    // until other work ran: without pauses it never ends
    while (!order.includes('other')) yield;
    order.push('long');
  }
  const work = runInSlices(long());
  setImmediate(() => order.push('other'));
  await work;
  t.deepEqual(order, ['other', 'long']);
  t.is(await runInSlices(counting(10)), 10);
});
