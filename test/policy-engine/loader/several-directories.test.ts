import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import { createTestAuthority, type TestBundleInput } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

function reading(domain: string, resource: string, version: number): TestBundleInput {
  const assertions = [{ role: 'reader', action: 'read', resource }];
  return { domain, version, policies: [{ name: `${domain}:policy.p`, assertions }] };
}

async function world(t: ExecutionContext) {
  const authority = await createTestAuthority();
  const [one, two] = [temporaryFolder(t), temporaryFolder(t)];
  await authority.writeBundle(one, reading('catalog', 'movie', 5));
  await authority.writeBundle(two, reading('media', 'playlist', 1));
  return { authority, one, two };
}

function may(engine: PolicyEngine, domain: string, resource: string): string {
  return engine.decideRoles({ domain, roles: ['reader'], action: 'read', resource }).status;
}

test('domains of several directories, each with its keys', async (t) => {
  const { authority, one, two } = await world(t);
  await using engine = await PolicyEngine.open({ policyDir: [one, two], clock: authority.clock, requireBound: false });
  t.is(may(engine, 'catalog', 'movie'), 'ALLOW');
  t.is(may(engine, 'media', 'playlist'), 'ALLOW');
  t.deepEqual(
    engine.health().domains.map(({ domain, version }) => [domain, version]),
    [
      ['catalog', 5],
      ['media', 1],
    ],
  );
  const token = await authority.token({ domain: 'media', roles: ['reader'] });
  t.is((await engine.decide({ token, action: 'read', resource: 'media:playlist' })).status, 'ALLOW');
  t.is(engine.health().scanned, authority.clock.now());
});

test('of a domain in both the newest bundle counts, and never an older one after it', async (t) => {
  const { authority, one, two } = await world(t);
  await authority.writeBundle(two, reading('catalog', 'series', 6));
  for (const policyDir of [
    [one, two],
    [two, one],
  ]) {
    await using engine = await PolicyEngine.open({ policyDir, clock: authority.clock });
    t.is(may(engine, 'catalog', 'series'), 'ALLOW');
    t.is(may(engine, 'catalog', 'movie'), 'DENY_NO_MATCH');
  }
  await using engine = await PolicyEngine.open({ policyDir: [one, two], clock: authority.clock });
  unlinkSync(join(two, 'catalog.pol'));
  await engine.refresh();
  t.is(may(engine, 'catalog', 'movie'), 'DENY_DOMAIN_NOT_FOUND');
  await authority.writeBundle(one, reading('catalog', 'movie', 7));
  await engine.refresh();
  t.is(may(engine, 'catalog', 'movie'), 'ALLOW');
});

test('no directory, one without keys, and two issuers are refused at the start', async (t) => {
  const { authority, one } = await world(t);
  const { clock } = authority;
  await t.throwsAsync(PolicyEngine.open({ policyDir: [], clock }), { code: 'invalid-options' });
  await t.throwsAsync(PolicyEngine.open({ policyDir: [one, temporaryFolder(t)], clock }), { code: 'keys-unavailable' });
  const other = await createTestAuthority({ issuer: 'https://elsewhere.test/v1', clock });
  const foreign = temporaryFolder(t);
  await other.writeBundle(foreign, reading('media', 'playlist', 1));
  await t.throwsAsync(PolicyEngine.open({ policyDir: [one, foreign], clock }), {
    code: 'invalid-options',
    message: 'the policy directories are of several issuers: give `keys`',
  });
});

test('the keys of every directory verify tokens, and the first issuer that is named is trusted', async (t) => {
  const { authority, one } = await world(t);
  const { clock } = authority;
  const other = await createTestAuthority({ clock });
  const two = temporaryFolder(t);
  await other.writeBundle(two, reading('media', 'playlist', 1));
  writeFileSync(join(one, 'keys.json'), JSON.stringify(authority.keys));
  for (const policyDir of [
    [one, two],
    [two, one],
  ]) {
    await using engine = await PolicyEngine.open({ policyDir, clock, requireBound: false });
    for (const by of [authority, other]) {
      const token = await by.token({ domain: 'media', roles: ['reader'] });
      t.is((await engine.decide({ token, action: 'read', resource: 'media:playlist' })).status, 'ALLOW');
    }
    t.is(may(engine, 'catalog', 'movie'), 'ALLOW');
  }
  const stranger = await createTestAuthority({ clock });
  await using engine = await PolicyEngine.open({ policyDir: [one, two], clock, requireBound: false });
  const token = await stranger.token({ domain: 'media', roles: ['reader'] });
  t.is((await engine.decide({ token, action: 'read', resource: 'media:playlist' })).status, 'DENY_TOKEN_INVALID');
});

test('a directory that comes to be of another issuer than the others brings neither keys nor policy', async (t) => {
  const { authority, one, two } = await world(t);
  const { clock, issuer } = authority;
  await using engine = await PolicyEngine.open({ policyDir: [one, two], clock, requireBound: false, watch: false });
  const other = await createTestAuthority({ issuer: 'https://elsewhere.test/v1', clock });
  await other.writeBundle(two, reading('catalog', 'secret', 99));
  await engine.refresh();
  t.is(may(engine, 'catalog', 'secret'), 'DENY_NO_MATCH');
  t.is(may(engine, 'catalog', 'movie'), 'ALLOW');
  t.is(engine.health().error?.code, 'keys-unavailable');
  const forger = await createTestAuthority({ issuer, clock });
  writeFileSync(join(two, 'keys.json'), JSON.stringify({ issuer: 'https://elsewhere.test/v1', ...forger.keys }));
  await engine.refresh();
  const token = await forger.token({ domain: 'catalog', roles: ['reader'] });
  t.is((await engine.decide({ token, action: 'read', resource: 'catalog:movie' })).status, 'DENY_TOKEN_INVALID');
});
