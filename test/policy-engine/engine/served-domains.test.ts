import { readFileSync } from 'node:fs';
import { PolicyEngine, type Status } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* A host holds the bundles of several domains; which of them a service serves is for the service to say, not for the caller. */

const authority = await createTestAuthority();
const anything = [{ name: 'p', assertions: [{ role: 'admin', action: '*', resource: '*' }] }];
const all = { catalog: anything, evil: anything, media: anything };

interface Case {
  /** The domains served; absent when the service does not say. */
  readonly domains?: readonly string[];
  /** The domain of the credential, whose role may do everything in its own domain. */
  readonly token: string;
  readonly resource: string;
  readonly status: Status;
}

const file = new URL('../../support/cases/served-domains.json', import.meta.url);
const cases: readonly Case[] = JSON.parse(readFileSync(file, 'utf8'));

for (const { domains, token: domain, resource, status } of cases) {
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

test('a resource that is not a string belongs to no domain', async (t) => {
  const engine = authority.engine(all, { domains: ['catalog'], requireBound: false });
  const token = await authority.token({ domain: 'catalog', roles: ['admin'] });
  for (const resource of [undefined, null, 7, {}, ['catalog:movie']] as unknown as string[]) {
    t.is((await engine.decide({ token, action: 'read', resource })).status, 'DENY_INVALID_PARAMETERS');
    t.is((await engine.explain({ token, action: 'read', resource })).status, 'DENY_INVALID_PARAMETERS');
  }
});

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
