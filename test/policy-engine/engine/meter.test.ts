import { type Meter, PolicyEngine } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';

const domains = {
  catalog: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] }],
};
const held = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' };

function meter() {
  const told: string[] = [];
  const dropped: (readonly [string, number])[] = [];
  const counting: Meter = {
    decided: (status, seconds) => void told.push(seconds >= 0 ? status : `${status} in ${seconds} s`),
    recordsDropped: (reason, count) => void dropped.push([reason, count]),
  };
  return { told, dropped, counting };
}

test('every call is one decision, whatever it asks for', async (t) => {
  const { told, counting } = meter();
  const authority = await createTestAuthority();
  const engine = authority.engine(domains, { requireBound: false, meter: counting });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], principal: 'media.player' });
  const asked = { action: 'read', resource: 'catalog:movie' };
  await engine.decide({ token, ...asked });
  await engine.decide({ token, ...asked });
  await engine.decide({ token: [token, token], ...asked });
  await engine.decide({ token: 'nonsense', ...asked });
  await engine.decide(null as never);
  engine.decideRoles(held);
  engine.decideRoles({ ...held, action: 'write' });
  engine.decideRoleCertificate({ certificate: undefined, authorities: [], ...asked });
  await engine.explain({ token, ...asked });
  t.deepEqual(told, [
    'ALLOW',
    'ALLOW',
    'ALLOW',
    'DENY_TOKEN_INVALID',
    'DENY_INVALID_PARAMETERS',
    'ALLOW',
    'DENY_NO_MATCH',
    'DENY_CERT_MISSING_SUBJECT',
  ]);
});

test('records that are not written, by reason', async (t) => {
  const { dropped, counting } = meter();
  const clock = new TestClock(1000);
  let masks = 0;
  const engine = PolicyEngine.fromDomains(domains, {
    clock,
    meter: counting,
    records: {
      maxWaiting: 3,
      mask: (record) => {
        masks += 1;
        if (masks === 1) return undefined;
        if (masks === 2) throw new Error('a bad mask');
        return record;
      },
      write: () => {
        throw new Error('a full disk');
      },
    },
  });
  for (let count = 0; count < 4; count += 1) engine.decideRoles(held);
  await engine.close();
  t.deepEqual(dropped, [
    ['waiting', 1],
    ['masked', 1],
    ['masked', 1],
    ['failed', 1],
  ]);
  t.deepEqual(engine.health().records, { written: 0, dropped: 1, masked: 2, failed: 1 });
});

test('a meter that throws changes no decision', async (t) => {
  const fail = (): never => {
    throw new Error('a bad meter');
  };
  const records = { maxWaiting: 0, write: () => undefined };
  const engine = PolicyEngine.fromDomains(domains, { meter: { decided: fail, recordsDropped: fail }, records });
  t.is(engine.decideRoles(held).status, 'ALLOW');
  t.is(
    (await engine.decide({ token: 'nonsense', action: 'read', resource: 'catalog:movie' })).status,
    'DENY_TOKEN_INVALID',
  );
});
