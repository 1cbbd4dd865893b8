import { PolicyEngine, type Status } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* A host holds the bundles of several domains; which of them a service serves is for the service to say, not for the caller. */

const authority = await createTestAuthority();
const anything = [{ name: 'p', assertions: [{ role: 'admin', action: '*', resource: '*' }] }];
const all = { catalog: anything, evil: anything, media: anything };

type Served = readonly string[] | undefined;
const cases: readonly [domains: Served, token: string, resource: string, status: Status][] = [
  [undefined, 'evil', 'movie', 'DENY_INVALID_PARAMETERS'],
  [undefined, 'catalog', 'movie', 'DENY_INVALID_PARAMETERS'],
  [undefined, 'catalog', 'catalog:movie', 'ALLOW'],
  [undefined, 'evil', 'catalog:movie', 'DENY_DOMAIN_MISMATCH'],
  [undefined, 'evil', 'evil:movie', 'ALLOW'],
  [['catalog'], 'catalog', 'movie', 'ALLOW'],
  [['Catalog'], 'catalog', 'movie', 'ALLOW'],
  [['catalog', 'catalog'], 'catalog', 'movie', 'ALLOW'],
  [['catalog'], 'catalog', 'Catalog:Movie', 'ALLOW'],
  [['catalog'], 'evil', 'movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog'], 'evil', 'evil:movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog'], 'evil', 'catalog:movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog'], 'catalog', 'evil:movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog'], 'catalog', '', 'DENY_INVALID_PARAMETERS'],
  [['catalog', 'media'], 'catalog', 'movie', 'DENY_INVALID_PARAMETERS'],
  [['catalog', 'media'], 'evil', 'movie', 'DENY_INVALID_PARAMETERS'],
  [['catalog', 'media'], 'media', 'media:movie', 'ALLOW'],
  [['catalog', 'media'], 'media', 'catalog:movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog', 'media'], 'evil', 'evil:movie', 'DENY_DOMAIN_MISMATCH'],
];

for (const [domains, domain, resource, status] of cases) {
  const note = `served: ${domains?.join() ?? 'not said'}; credential of ${domain}; \`${resource}\` is ${status}`;
  const options = domains === undefined ? {} : { domains };

  test(`token, ${note}`, async (t) => {
    const engine = authority.engine(all, options);
    const certificate = authority.certificate('evil.admin');
    const token = await authority.token({ domain, roles: ['admin'], certificate });
    const asked = { token, action: 'read', resource, certificate };
    t.is((await engine.decide(asked)).status, status);
    t.is((await engine.decide(asked)).status, status, 'from the cache');
    t.is((await engine.decide({ ...asked, token: [token] })).status, status);
    t.is((await engine.explain(asked)).status, status);
  });

  test(`role certificate, ${note}`, (t) => {
    const engine = authority.engine(all, options);
    const certificate = authority.certificate(`${domain}:role.admin`);
    const asked = { certificate, authorities: authority.ca.pem, action: 'read', resource };
    t.is(engine.decideRoleCertificate(asked).status, status);
  });

  test(`directory, ${note}`, async (t) => {
    const policyDir = temporaryFolder(t);
    for (const [name, policies] of Object.entries(all)) {
      await authority.writeBundle(policyDir, { domain: name, policies });
    }
    const { clock } = authority;
    await using engine = await PolicyEngine.open({ policyDir, clock, watch: false, requireBound: false, ...options });
    const token = await authority.token({ domain, roles: ['admin'] });
    t.is((await engine.decide({ token, action: 'read', resource })).status, status);
  });
}

test('decideRoles takes its domain as an argument, whatever is served', (t) => {
  for (const options of [{}, { domains: ['catalog'] }, { domains: ['catalog', 'media'] }]) {
    const engine = authority.engine(all, options);
    for (const domain of ['catalog', 'evil']) {
      const asked = { domain, roles: ['admin'], action: 'read', resource: 'movie' };
      t.is(engine.decideRoles(asked).status, 'ALLOW');
      t.is(engine.explainRoles(asked).status, 'ALLOW');
    }
  }
});

test('an engine says which domains it serves', (t) => {
  t.is(authority.engine(all).domains, undefined);
  t.deepEqual(authority.engine(all, { domains: ['Catalog', 'media'] }).domains, ['catalog', 'media']);
});

test('an explanation says of which domain a token is needed', async (t) => {
  const engine = authority.engine(all, { domains: ['catalog'], requireBound: false });
  const token = await authority.token({ domain: 'evil', roles: ['admin'] });
  const explained = await engine.explain({ token, action: 'read', resource: 'movie' });
  t.like(explained, { status: 'DENY_DOMAIN_MISMATCH', token: { subject: 'test.client' } });
  t.deepEqual(explained.changes, [{ kind: 'get-token-of-domain', domain: 'catalog' }]);
  const foreign = await engine.explain({ token, action: 'read', resource: 'evil:movie' });
  t.deepEqual(foreign.changes, []);
});

for (const domains of [null, 'catalog', [], [''], ['a b'], [7], ['catalog', 'x:y']]) {
  test(`domains must be names: ${JSON.stringify(domains)}`, async (t) => {
    const expected = { code: 'invalid-options', message: /`domains/ };
    t.throws(() => Reflect.apply(PolicyEngine.fromDomains, PolicyEngine, [all, { domains }]), expected);
    const policyDir = temporaryFolder(t);
    await authority.writeBundle(policyDir, { domain: 'catalog', policies: anything });
    await t.throwsAsync(
      Promise.resolve(Reflect.apply(PolicyEngine.open, PolicyEngine, [{ policyDir, domains }])),
      expected,
    );
  });
}
