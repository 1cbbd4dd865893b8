import { mock } from 'node:test';
import { type DecisionRecord, PolicyEngine, type RecordOptions } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';

const domains = {
  catalog: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] }],
};
const request = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' };

/** An engine whose records end up in a list. */
function recording(more: Partial<RecordOptions> = {}): { engine: PolicyEngine; written: DecisionRecord[] } {
  const written: DecisionRecord[] = [];
  const write = (records: readonly DecisionRecord[]): void => {
    written.push(...records);
  };
  const engine = PolicyEngine.fromDomains(domains, { clock: new TestClock(1000), records: { write, ...more } });
  return { engine, written };
}

test('every decision is recorded, and never the token', async (t) => {
  const authority = await createTestAuthority();
  const written: DecisionRecord[] = [];
  const records: RecordOptions = { write: (batch) => void written.push(...batch) };
  const engine = authority.engine(domains, { requireBound: false, records });
  const claims = { jti: 'token-1' };
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], principal: 'media.player', claims });
  await engine.decide({ token, action: 'read', resource: 'catalog:movie' });
  await engine.decide({ token: 'nonsense', action: 'read', resource: 'catalog:movie' });
  await engine.close();
  const at = authority.clock.now();
  t.deepEqual(written, [
    {
      at,
      status: 'ALLOW',
      domain: 'catalog',
      roles: ['reader'],
      action: 'read',
      resource: 'catalog:movie',
      subject: 'media.player',
      tokenId: 'token-1',
      policy: 'catalog:policy.p',
      assertion: { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'catalog:movie' },
    },
    { at, status: 'DENY_TOKEN_INVALID', action: 'read', resource: 'catalog:movie' },
  ]);
  t.deepEqual(engine.health().records, { written: 2, dropped: 0, masked: 0, failed: 0 });
});

test('whose token it was is recorded of a token only', async (t) => {
  const { engine, written } = recording();
  // A service may pass on members that it received.
  const asked = { ...request, subject: 'media.admin', tokenId: 'token-1' };
  t.is(engine.decideRoles(asked).status, 'ALLOW');
  t.deepEqual(await engine.filterRoles({ ...asked, resources: ['catalog:movie'] }), ['catalog:movie']);
  await engine.close();
  t.is(written.length, 2);
  for (const record of written) {
    t.deepEqual(Object.keys(record), ['at', 'status', 'domain', 'roles', 'action', 'resource', 'policy', 'assertion']);
  }
});

test('a sample is recorded', async (t) => {
  const draws = [0.1, 0.6, 0.49, 0.5];
  const { engine, written } = recording({ sampleRate: 0.5, random: () => draws.shift() ?? 1 });
  for (const action of ['a', 'b', 'c', 'd']) engine.decideRoles({ ...request, action });
  await engine.close();
  t.deepEqual(
    written.map(({ action }) => action),
    ['a', 'c'],
  );
});

test('what waits is bounded, and what is dropped is counted', async (t) => {
  const { engine, written } = recording({ maxWaiting: 3 });
  for (let round = 0; round < 10; round += 1) engine.decideRoles(request);
  await engine.close();
  t.is(written.length, 3);
  t.deepEqual(engine.health().records, { written: 3, dropped: 7, masked: 0, failed: 0 });
});

test('a mask changes records, and one that fails drops them', async (t) => {
  const { engine, written } = recording({
    mask: (record) => {
      if (record.action === 'drop') return undefined;
      if (record.action === 'fail') throw new Error('no');
      return { ...record, resource: 'hidden' };
    },
  });
  for (const action of ['read', 'drop', 'fail']) engine.decideRoles({ ...request, action });
  await engine.close();
  t.deepEqual(
    written.map(({ resource }) => resource),
    ['hidden'],
  );
  t.deepEqual(engine.health().records, { written: 1, dropped: 0, masked: 2, failed: 0 });
});

const failing: [note: string, records: RecordOptions][] = [
  [
    'write throws',
    {
      write: () => {
        throw new Error('disk full');
      },
    },
  ],
  ['write rejects', { write: () => Promise.reject(new Error('disk full')) }],
];
for (const [note, records] of failing) {
  test(`a failing hook changes no decision: ${note}`, async (t) => {
    const engine = PolicyEngine.fromDomains(domains, { records });
    t.is(engine.decideRoles(request).status, 'ALLOW');
    await engine.close();
    t.is(engine.decideRoles(request).status, 'ALLOW');
    t.is(engine.health().records?.failed, 1);
  });
}

test('a failing random source changes no decision', (t) => {
  const { engine } = recording({
    sampleRate: 0.5,
    random: () => {
      throw new Error('no');
    },
  });
  t.is(engine.decideRoles(request).status, 'ALLOW');
});

test.serial('the end of an engine does not wait for ever for records that are not taken', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const { engine } = recording({ write: () => new Promise<void>(() => undefined) });
  engine.decideRoles(request);
  const closed = engine.close();
  // Until `close` has come to its records.
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(5000);
  await closed;
  t.deepEqual(engine.health().records, { written: 0, dropped: 0, masked: 0, failed: 0 });
});
