import { restartDelay } from '@signet/server/cli/workers';
import test from 'ava';

test('a worker that dies is replaced after a second at the earliest, and ever later when it goes on', (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 99].map((deaths) => restartDelay(0, deaths)),
    [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000],
  );
});

test('the life of a worker counts', (t) => {
  t.is(restartDelay(999, 1), 1);
  t.is(restartDelay(1000, 1), 0);
  t.is(restartDelay(3_600_000, 1), 0);
});
