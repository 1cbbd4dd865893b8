import { createHousekeeping } from '@signet/server/x509/housekeeping';
import { watchSteadiness } from '@signet/server/x509/steadiness';
import test from 'ava';
import { FakeClock } from '#support/clock';

const minute = 60_000;
const hour = 60 * minute;

/** A clock and what the machine counts beside it. */
function clocks() {
  const clock = new FakeClock(1_700_000_000_000);
  let counted = 5000;
  return {
    clock,
    monotonic: () => counted,
    /** Time goes on; the clock shows `more` beside it. */
    pass(milliseconds: number, more = 0) {
      counted += milliseconds;
      clock.advance(milliseconds + more);
    },
  };
}

test('a clock is believed after six even hours, and six hours after each step', (t) => {
  const { clock, monotonic, pass } = clocks();
  const isSteady = watchSteadiness(clock, monotonic);
  t.false(isSteady());
  pass(6 * hour - 1);
  t.false(isSteady());
  pass(1);
  t.true(isSteady());
  for (const step of [10 * 365 * 24 * hour, -10 * 365 * 24 * hour, 2 * minute, -2 * hour]) {
    pass(minute, step);
    t.false(isSteady(), `a step of ${step}`);
    pass(5 * hour);
    t.false(isSteady());
    pass(hour);
    t.true(isSteady());
  }
  for (let look = 0; look < 1000; look += 1) {
    pass(minute, 20);
    t.true(isSteady(), 'a clock that is only slewed');
  }
});

test('nothing is forgotten by a clock that was set a moment ago', async (t) => {
  const { clock, monotonic, pass } = clocks();
  const asked: string[] = [];
  const note = (what: string) => async (before: number) => {
    asked.push(`${what} before ${before}`);
    return 0;
  };
  const run = createHousekeeping(
    {
      clock,
      certificates: { prune: note('certificates') },
      store: { pruneRequests: note('requests') },
      instances: { pruneJoinTokens: note('tokens'), pruneAttestationTokens: note('attestation tokens') },
    },
    (error) => t.fail(String(error)),
    monotonic,
  );
  pass(minute, 10 * 365 * 24 * hour);
  await run();
  t.deepEqual(asked, []);
  pass(6 * hour, -10 * 365 * 24 * hour);
  await run();
  t.deepEqual(asked, [], 'it was set back');
  pass(6 * hour);
  await run();
  const ended = (days: number) => Math.floor(clock.now() / 1000) - days * 86_400;
  t.deepEqual(asked, [
    `certificates before ${ended(30)}`,
    `requests before ${ended(30) * 1000}`,
    `tokens before ${ended(30)}`,
    `attestation tokens before ${ended(1)}`,
  ]);
});
