import { type DecideRequest, type Explanation, PolicyEngine, type Status, statusMeaning } from '@signet/policy-engine';
import { createTestAuthority, type TestTokenInput } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const policies = [
  {
    name: 'catalog:policy.p',
    assertions: [{ id: 3, role: 'catalog:role.reader', action: 'read', resource: 'catalog:movie' }],
  },
];

test('an explanation of a token and a bundle says everything, and nothing secret', async (t) => {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  await authority.writeBundle(policyDir, { domain: 'catalog', policies, version: 4 });
  const engine = await PolicyEngine.open({ policyDir, clock: authority.clock, watch: false });
  t.teardown(() => engine.close());
  const certificate = authority.certificate('media.player');
  const input: TestTokenInput = {
    domain: 'catalog',
    roles: ['reader'],
    principal: 'media.player',
    certificate,
    claims: { jti: 'token-1' },
  };
  const issued = authority.clock.now();
  authority.clock.advance(5000);
  const token = await authority.token(input);
  const explained = await engine.explain({ token, action: 'read', resource: 'catalog:movie', certificate });
  t.deepEqual(explained, {
    status: 'ALLOW',
    meaning: 'an assertion allows the action and none denies it',
    request: { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' },
    decidedBy: {
      policy: 'catalog:policy.p',
      assertion: { id: 3, effect: 'ALLOW', role: 'catalog:role.reader', action: 'read', resource: 'catalog:movie' },
      heldRole: 'reader',
    },
    bundle: { epoch: 0, version: 4, issued, ageMs: 5000, expires: issued + 604_800_000 },
    token: {
      id: 'token-1',
      subject: 'media.player',
      issuer: authority.issuer,
      kid: authority.keys.keys[0]?.kid ?? '',
      expires: issued / 1000 + 5 + 3600,
      thumbprint: certificate.thumbprint,
    },
    nearMisses: [],
    changes: [],
  } satisfies Explanation);
  t.false(JSON.stringify(explained).includes(token));

  authority.clock.advance(700_000_000);
  const late = await engine.explain({ token, action: 'read', resource: 'catalog:movie', certificate });
  t.is(late.status, 'DENY_TOKEN_EXPIRED');
  t.deepEqual(late.changes, [{ kind: 'renew-token' }, { kind: 'renew-policy', domain: 'catalog' }]);
});

test('an explanation has the status of the decision, and says what would help', async (t) => {
  const authority = await createTestAuthority();
  const engine = authority.engine({ catalog: policies });
  const certificate = authority.certificate('media.player');
  const bound: TestTokenInput = { domain: 'catalog', roles: ['reader'], certificate };
  const other = authority.certificate('media.player');
  const good = { token: await authority.token(bound), action: 'read', resource: 'catalog:movie', certificate };
  const addition = { kind: 'add-assertion', domain: 'catalog' };
  const cases: [request: DecideRequest & { token: string }, status: Status, changes: object[]][] = [
    [good, 'ALLOW', []],
    [{ ...good, certificate: other }, 'DENY_CERT_HASH_MISMATCH', [{ kind: 'present-certificate' }]],
    [
      { ...good, token: await authority.token({ domain: 'catalog', roles: ['reader'] }) },
      'DENY_CERT_HASH_MISMATCH',
      [{ kind: 'bind-token' }],
    ],
    [{ ...good, action: 'write' }, 'DENY_NO_MATCH', [addition]],
    [
      { ...good, action: 'write', token: await authority.token({ ...bound, expiresInSeconds: 0 }) },
      'DENY_TOKEN_EXPIRED',
      [{ kind: 'renew-token' }, addition],
    ],
    [{ ...good, resource: 'Media:x' }, 'DENY_DOMAIN_MISMATCH', [{ kind: 'get-token-of-domain', domain: 'media' }]],
    [{ ...good, action: '' }, 'DENY_INVALID_PARAMETERS', []],
    [{ ...good, token: 'x' }, 'DENY_TOKEN_INVALID', []],
    [{ ...good, resource: 'movie' }, 'DENY_INVALID_PARAMETERS', []],
    [
      { ...good, token: await authority.token({ ...bound, domain: 'nowhere' }), resource: 'nowhere:movie' },
      'DENY_DOMAIN_NOT_FOUND',
      [],
    ],
  ];
  for (const [request, status, changes] of cases) {
    t.is((await engine.decide(request)).status, status);
    const explained = await engine.explain(request);
    t.is(explained.status, status);
    t.is(explained.changes.length, changes.length);
    for (const [at, change] of changes.entries()) t.like(explained.changes[at], change);
  }
  const { certificate: _, ...without } = good;
  for (const request of [without, { ...without, certificate: null }, { ...without, certificate: undefined }]) {
    const { status, meaning, changes } = await engine.explain(request);
    t.is(status, 'DENY_CERT_HASH_MISMATCH');
    t.is(meaning, 'the request came without a client certificate');
    t.deepEqual(changes, [{ kind: 'present-certificate', thumbprint: certificate.thumbprint }]);
  }
  t.is((await engine.explain({ ...good, certificate: other })).meaning, statusMeaning('DENY_CERT_HASH_MISMATCH'));
  const { token } = await engine.explain({ ...good, token: 'x' });
  t.deepEqual(token, { fault: 'malformed' });
});

test('whatever is passed is explained', async (t) => {
  const engine = PolicyEngine.fromDomains({ catalog: policies });
  for (const request of [undefined, {}, { token: 7 }, { domain: 'catalog', roles: 7, action: 'a', resource: 'x' }]) {
    t.regex((await Reflect.apply(engine.explain, engine, [request])).status, /^DENY_/);
    t.regex(Reflect.apply(engine.explainRoles, engine, [request]).status, /^DENY_/);
  }
});
