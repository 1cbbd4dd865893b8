import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError, UnknownDomainError } from '@signet/server/errors';
import { deleteInstance } from '@signet/server/instances/delete-instance';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { snapshotOf } from '#support/domains';

/* Right to delete an instance, against a store that only counts. */

const snapshot = snapshotOf({
  media: { roles: { keepers: ['user.joe'] }, rules: ['allow delete instance.i-1 keepers'] },
});

async function attempt(caller: string, { later = snapshot, domain = 'media', instanceId = 'i-1' } = {}) {
  const seen = { begun: 0, removed: 0, told: 0 };
  const transaction = {
    source: () => undefined,
    removeInstance: async () => {
      seen.removed += 1;
    },
  };
  const deps = {
    snapshot: () => snapshot,
    snapshotAt: async () => later,
    clock: new FakeClock(1_767_225_600_000),
    store: {
      change: async (_context: unknown, change: (given: typeof transaction) => Promise<unknown>) => {
        seen.begun += 1;
        return change(transaction);
      },
    },
    onRevoked: async () => {
      seen.told += 1;
    },
  };
  const key = {
    provider: parsePrincipalName('sys.cloud'),
    domain: parseDomainName(domain),
    service: parseServiceName('player'),
    instanceId: parsePathElement(instanceId),
  };
  const asker = { principal: parsePrincipalName(caller) };
  const error = await deleteInstance(deps as never, asker, key, {} as never).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { ...seen, error };
}

test('the provider and who has the right delete an instance', async (t) => {
  t.deepEqual(await attempt('sys.cloud'), { begun: 1, removed: 1, told: 1, error: undefined });
  t.deepEqual(await attempt('user.joe'), { begun: 1, removed: 1, told: 1, error: undefined });
});

test('who has no right is refused before anything is written or waited for', async (t) => {
  for (const [caller, more] of [
    ['user.eve', {}],
    ['user.joe', { instanceId: 'i-2' }],
    ['sys.other', {}],
  ] as const) {
    const { error, ...seen } = await attempt(caller, more);
    t.true(error instanceof ForbiddenError, caller);
    t.deepEqual(seen, { begun: 0, removed: 0, told: 0 });
  }
  const { error, ...seen } = await attempt('sys.cloud', { domain: 'nowhere' });
  t.true(error instanceof UnknownDomainError);
  t.deepEqual(seen, { begun: 0, removed: 0, told: 0 });
});

test('a right that is gone when the change begins deletes nothing', async (t) => {
  const later = snapshotOf({ media: { roles: { keepers: [] }, rules: ['allow delete instance.i-1 keepers'] } });
  const { error, ...seen } = await attempt('user.joe', { later });
  t.true(error instanceof ForbiddenError);
  t.deepEqual(seen, { begun: 1, removed: 0, told: 0 });
});
