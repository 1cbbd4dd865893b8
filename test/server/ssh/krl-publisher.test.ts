import { systemClock } from '@signet/policy-engine/clock';
import { createKrlPublisher } from '@signet/server/ssh/revoked-krl';
import test from 'ava';
import { TestPace } from '../support/test-pace.ts';

test('whoever asks within a second gets one list, read after the last of them asked', async (t) => {
  const pace = new TestPace();
  let reads = 0;
  const current = createKrlPublisher({
    pace,
    clock: systemClock,
    authorities: [],
    certificates: {
      lastRevocation: async () => ({ sequence: 0, at: 0 }),
      revocationsAfter: async () => {
        reads += 1;
        return [];
      },
    },
  });
  await current();
  const asked = Array.from({ length: 100 }, () => current());
  await pace.advance(999);
  t.is(reads, 1);
  await pace.advance(1);
  t.is(new Set(await Promise.all(asked)).size, 1);
  t.is(reads, 2);
});
