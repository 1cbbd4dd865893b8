import { StoreUnavailableError } from '@signet/server/errors';
import type { RevocationRow } from '@signet/server/model/certificate-store';
import type { StoreState } from '@signet/server/model/snapshot-source';
import { openLiveRevocations } from '@signet/server/x509/live-revocations';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { until } from '#support/until';

/* Revocations are read when a look at the store finds that there may be some, and else not. */

const start = 1_800_000_000;

function row(sequence: number, notAfter = start + 50_000): RevocationRow {
  const serial = `4a0${sequence}`;
  return {
    serial,
    sequence,
    issuer: 'i',
    revokedAt: start,
    reason: 'superseded',
    notAfter,
    fingerprint: `f-${serial}`,
  };
}

async function openWorld(t: ExecutionContext, refreshIntervalMs = 3_600_000) {
  const clock = new FakeClock(start * 1000);
  const rows: RevocationRow[] = [];
  const errors: unknown[] = [];
  const world = { reads: 0, isAway: false, state: { epoch: 1, counter: 1, head: 'a' } };
  let listener: (state: StoreState) => void = () => t.fail('nobody listens');
  const revocations = await openLiveRevocations({
    certificates: {
      revocationsAfter: async (after, now) => {
        world.reads += 1;
        if (world.isAway) throw new StoreUnavailableError('it is away');
        return rows.filter(({ sequence, notAfter }) => sequence > after && notAfter >= now);
      },
    },
    clock,
    refreshIntervalMs,
    onError: (error) => errors.push(error),
    onLook: (heard) => {
      listener = heard;
    },
  });
  t.teardown(() => revocations.close());
  /** A look at the store as it is, and whatever follows from it. */
  const look = async (state: StoreState = world.state): Promise<void> => {
    listener(state);
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const revoke = (revoked: RevocationRow): void => {
    rows.push(revoked);
    world.state = { ...world.state, counter: world.state.counter + 1, head: `${world.state.head}a` };
  };
  return { world, clock, rows, errors, revocations, look, revoke };
}

test('nothing is read while nothing changes, and at once when something has', async (t) => {
  const { world, revocations, look, revoke } = await openWorld(t);
  t.is(world.reads, 1, 'at the start');
  await look();
  t.is(world.reads, 2, 'the state at the start is not known');
  for (let turn = 0; turn < 5; turn += 1) await look();
  t.is(world.reads, 2);
  revoke(row(1));
  await look();
  t.is(world.reads, 3);
  t.true(revocations.has('4a01'));
  await look();
  t.is(world.reads, 3);
});

test('another epoch, counter or audit log is another state', async (t) => {
  const { world, look } = await openWorld(t);
  await look();
  const { state } = world;
  for (const [index, other] of [
    { ...state, epoch: 2 },
    { ...state, counter: 2 },
    { ...state, head: 'b' },
  ].entries()) {
    await look(other);
    t.is(world.reads, 3 + index);
  }
});

test('what is revoked while it is read is read at the next look', async (t) => {
  const { world, rows, revocations, look, revoke } = await openWorld(t);
  await look();
  const seen = world.state;
  // It comes after the rows were read, and with it another state than the one before the read.
  revoke(row(1));
  const late = rows.pop();
  await look({ ...seen, head: 'between' });
  t.false(revocations.has('4a01'));
  if (late !== undefined) rows.push(late);
  await look();
  t.true(revocations.has('4a01'));
});

test('a read that fails is repeated at each look under the same state', async (t) => {
  const { world, errors, revocations, look, revoke } = await openWorld(t);
  await look();
  revoke(row(1));
  world.isAway = true;
  await look();
  await look();
  t.is(errors.length, 2, 'each failure is told');
  t.false(revocations.has('4a01'));
  world.isAway = false;
  await look();
  t.true(revocations.has('4a01'));
  const { reads } = world;
  await look();
  t.is(world.reads, reads, 'and then no more');
});

test('without looks they are read after each interval', async (t) => {
  const { world, revocations, look, revoke } = await openWorld(t, 5);
  await look();
  await look();
  revoke(row(1));
  await until('it is read without a look', async () => revocations.has('4a01'));
  const { reads } = world;
  await until('and again', async () => world.reads > reads + 2);
  t.true(revocations.has('4a01'));
});

test('failing reads without looks are repeated, too', async (t) => {
  const { world, errors, revocations, revoke } = await openWorld(t, 5);
  world.isAway = true;
  revoke(row(1));
  await until('some reads have failed', async () => errors.length > 2);
  world.isAway = false;
  await until('it is read', async () => revocations.has('4a01'));
  t.true(revocations.hasThumbprint('f-4a01'));
});

test('a certificate that ended is forgotten without a read, and known again when the clock is set back', async (t) => {
  const { world, clock, revocations, look, revoke } = await openWorld(t);
  revoke(row(1, start + 100));
  await look();
  t.true(revocations.has('4a01'));
  const { reads } = world;
  clock.advance(101_000);
  await look();
  t.is(world.reads, reads);
  t.false(revocations.has('4a01'));
  t.false(revocations.hasThumbprint('f-4a01'));
  clock.set(start * 1000);
  await look();
  t.true(revocations.has('4a01'), 'its certificate is good again');
});
