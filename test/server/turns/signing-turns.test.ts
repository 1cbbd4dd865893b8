import { maxWaiting, signingTurns } from '@signet/server/turns/signing-turns';
import test from 'ava';
import { TestPace } from '../support/test-pace.ts';

function start() {
  const pace = new TestPace();
  const takeTurn = signingTurns<number>(pace);
  let state = 0;
  const signed: [state: number, at: number][] = [];
  const sign = async () => {
    signed.push([state, pace.now()]);
    return state;
  };
  return { pace, signed, change: () => (state += 1), ask: (lane = 'a', piece = 'x') => takeTurn(lane, piece, sign) };
}

test('the first turn is at once, a second later the next one is as well', async (t) => {
  const { pace, signed, ask, change } = start();
  t.is(await ask(), 0);
  change();
  await pace.advance(1000);
  t.is(await ask(), 1);
  t.deepEqual(signed, [
    [0, 0],
    [1, 1000],
  ]);
});

test('just before that it waits for the rest of the second', async (t) => {
  const { pace, signed, ask, change } = start();
  await ask();
  await pace.advance(999);
  change();
  const second = ask();
  t.is(signed.length, 1);
  await pace.advance(1);
  t.is(await second, 1);
  t.deepEqual(signed, [
    [0, 0],
    [1, 1000],
  ]);
});

test('all who ask within a second get, at its end, what holds then', async (t) => {
  const { pace, signed, ask, change } = start();
  await ask();
  const asked: Promise<number>[] = [];
  for (let turn = 0; turn < 100; turn += 1) {
    change();
    asked.push(ask());
    await pace.advance(9);
  }
  t.is(signed.length, 1);
  await pace.advance(100);
  t.deepEqual(
    await Promise.all(asked),
    Array.from({ length: 100 }, () => 100),
  );
  t.is(signed.length, 2);
});

test('a thousand changes in ten seconds are eleven signatures', async (t) => {
  const { pace, signed, ask, change } = start();
  const answers: number[] = [];
  for (let turn = 0; turn < 1000; turn += 1) {
    change();
    void ask().then((answer) => answers.push(answer));
    await pace.advance(10);
  }
  await pace.advance(1000);
  t.is(answers.length, 1000);
  t.deepEqual(
    answers,
    answers.toSorted((one, other) => one - other),
  );
  t.is(signed.length, 11);
});

test('what fails costs a turn as well, and the next one may do better', async (t) => {
  const pace = new TestPace();
  const takeTurn = signingTurns<number>(pace);
  let attempts = 0;
  const fail = () => {
    attempts += 1;
    return Promise.reject(new Error('too large'));
  };
  await t.throwsAsync(takeTurn('a', 'x', fail), { message: 'too large' });
  const waiting = [takeTurn('a', 'x', fail), takeTurn('a', 'x', fail)];
  const refused = waiting.map((each) => t.throwsAsync(each, { message: 'too large' }));
  await pace.advance(1000);
  await Promise.all(refused);
  t.is(attempts, 2);
});

test('lanes do not wait for each other, pieces of one lane do', async (t) => {
  const { pace, signed, ask } = start();
  await Promise.all([ask('a'), ask('b')]);
  const pieces = ['x', 'y', 'x', 'z'].map((piece) => ask('a', piece));
  t.true(pieces[0] === pieces[2]);
  for (const count of [3, 4, 5]) {
    await pace.advance(1000);
    t.is(signed.length, count);
  }
  await Promise.all(pieces);
});

test('the longest line, and one more', async (t) => {
  const { pace, ask } = start();
  await ask();
  const waiting = Array.from({ length: maxWaiting }, (_, index) => ask('a', `${index}`));
  t.throws(() => ask('a', 'more'), { name: 'ServiceUnavailableError', message: 'too many signatures are waited for' });
  t.true(ask('a', '0') === waiting[0]);
  await pace.advance(1000);
  t.notThrows(() => void ask('a', 'more'));
});
