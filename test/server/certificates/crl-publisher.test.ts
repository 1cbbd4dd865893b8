import { NotFoundError } from '@signet/server/errors';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { CrlsByIssuer } from '#support/crl-store';

/* Lifetime and reissue of revocation lists. Lists live 1000 seconds and begin 300 before they are made. */

async function world() {
  const clock = new FakeClock();
  const { root, intermediate } = await createAuthorities(clock);
  const [active, draining] = [intermediate, root].map(({ certificate, key }) => issuerFromPem(certificate, key));
  if (active === undefined || draining === undefined) throw new Error('two issuers');
  const state = { sequence: 1, isDown: false, turnsAt: 0 };
  const lists = new CrlsByIssuer(() => {
    if (state.isDown) throw new Error('down');
  });
  const crls = createCrlPublisher({
    issuers: { current: () => ({ active: [active], draining: [draining], rootsPem: '', rootLists: [] }) },
    revocations: {
      rereadAt: 0,
      get sequence() {
        return state.sequence;
      },
      ofIssuer: () => [],
    },
    certificates: lists,
    clock,
    lifetimeSeconds: 1000,
    pace: { now: () => (state.turnsAt += 1000), wait: async () => undefined },
  });
  return { clock, crls, state, active, draining };
}

/** List given `seconds` after one was made: the same, another, or the same while none can be made and else another. */
const ages: [seconds: number, given: 'same' | 'other' | 'same if it must'][] = [
  [0, 'same'],
  [499, 'same'],
  [500, 'same if it must'],
  [999, 'same if it must'],
  [1000, 'other'],
  [1001, 'other'],
  [-300, 'same'],
  [-301, 'other'],
];
for (const [seconds, given] of ages) {
  test(`a list ${seconds} seconds after it was made: ${given}`, async (t) => {
    const { clock, crls, state } = await world();
    const first = await crls.current();
    clock.advance(seconds * 1000);
    state.isDown = true;
    if (given === 'other') await t.throwsAsync(crls.current(), { message: 'down' });
    else t.is(await crls.current(), first);
    state.isDown = false;
    const next = await crls.current();
    t.is(next === first, given === 'same');
  });
}

test('a list from before a revocation is not given, even while none can be made', async (t) => {
  const { crls, state } = await world();
  const first = await crls.current();
  state.sequence += 1;
  state.isDown = true;
  await t.throwsAsync(crls.current(), { message: 'down' });
  state.isDown = false;
  t.not(await crls.current(), first);
});

test('each issuer has its list: the active one by default, others by their id', async (t) => {
  const { crls, active, draining } = await world();
  const [usual, other] = [await crls.current(), await crls.current(draining.id)];
  t.is(await crls.current(active.id), usual);
  t.not(other, usual);
  t.is(await crls.current(draining.id), other);
  await t.throwsAsync(crls.current('00'), { instanceOf: NotFoundError });
  await t.throwsAsync(crls.current(''), { instanceOf: NotFoundError });
});
