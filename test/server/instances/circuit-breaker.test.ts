import { createCircuitBreaker } from '@signet/server/instances/attestation/circuit-breaker';
import test from 'ava';

test('the circuit lets one try in after the pause', (t) => {
  const breaker = createCircuitBreaker(2, 100);
  breaker.failed(0);
  t.true(breaker.admits(0));
  breaker.failed(0);
  t.deepEqual(
    [breaker.admits(99), breaker.admits(100), breaker.admits(100), breaker.admits(199)],
    [false, true, false, false],
  );
  t.deepEqual([breaker.pauseLeft(150), breaker.pauseLeft(200)], [50, 0]);
  breaker.succeeded();
  t.true(breaker.admits(101));
});

test('a clock that is set back does not lengthen the pause of a circuit', (t) => {
  const breaker = createCircuitBreaker(1, 100);
  breaker.failed(7_200_000);
  t.deepEqual(
    [breaker.admits(7_200_050), breaker.admits(0), breaker.admits(50), breaker.admits(100)],
    [false, true, false, true],
  );
});

test('so many failures in a row, and one less', (t) => {
  const breaker = createCircuitBreaker(3, 100);
  for (const round of [1, 2]) {
    breaker.failed(0);
    breaker.failed(0);
    t.deepEqual([breaker.admits(1), breaker.pauseLeft(1)], [true, 0], `${round}`);
    breaker.succeeded();
  }
  for (let failures = 0; failures < 3; failures += 1) breaker.failed(0);
  t.deepEqual([breaker.admits(1), breaker.pauseLeft(1)], [false, 99]);
});

test('a pause counts from the last failure, and as a whole when nothing of it is over', (t) => {
  const breaker = createCircuitBreaker(1, 100);
  breaker.failed(0);
  breaker.failed(50);
  t.deepEqual(
    [breaker.pauseLeft(50), breaker.pauseLeft(149), breaker.pauseLeft(150), breaker.pauseLeft(200)],
    [100, 1, 0, 0],
  );
  // A time before the failure by any amount: the clock was set back.
  t.is(breaker.pauseLeft(49), 0);
});
