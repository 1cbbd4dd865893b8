import { generateKeyPairSync } from 'node:crypto';
import { maxBundleBytes } from '@signet/policy-engine/bundle';
import { matchesEntityTag } from '@signet/server/bundles/entity-tags';
import { createBundlePublisher, issuedAt } from '@signet/server/bundles/publish-bundle';
import { compileDomain, compileGrantsInSteps } from '@signet/server/snapshot/compile-domain';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';

const day = 86_400_000;

const grid: readonly (readonly [name: string, now: number, modified: number, issued: number])[] = [
  ['on the grid', 10 * day, 1, 10 * day],
  ['between two points', 10.5 * day, 1, 10 * day],
  ['changed after the last point', 10.5 * day, 10.2 * day, 10.2 * day],
  ['changed before it', 11 * day, 10.2 * day, 11 * day],
];

for (const [name, now, modified, issued] of grid) {
  test(`issued ${name}`, (t) => t.is(issuedAt(now, modified, 7 * day), issued));
}

test('a bundle never has less than six sevenths of its life left when it is served', (t) => {
  for (let now = 100 * day; now < 102 * day; now += 777_777)
    t.true(issuedAt(now, 0, 7 * day) + 7 * day - now >= 6 * day);
});

const tag = '"1.2.x"';
const headers: readonly (readonly [header: string | undefined, matches: boolean])[] = [
  [undefined, false],
  ['', false],
  ['*', true],
  [' * ', true],
  [tag, true],
  [` ${tag} `, true],
  [`W/${tag}`, true],
  [`w/${tag}`, false],
  [`"a" , ${tag}`, true],
  [`"a",W/"b",${tag},"c"`, true],
  ['"1.2.xx"', false],
  ['1.2.x', false],
  [`x${tag}`, false],
  [`"a${tag}`, false],
  [`"a,${tag},b"`, false],
];

for (const [header, matches] of headers) {
  test(`If-None-Match ${JSON.stringify(header)}`, (t) => t.is(matchesEntityTag(header, tag), matches));
}

test('a long list is read in linear time', (t) => {
  const start = process.cpuUsage();
  matchesEntityTag(`${'"a", '.repeat(200_000)}"`, tag);
  matchesEntityTag(' ,'.repeat(500_000), tag);
  t.true(process.cpuUsage(start).user < 2_000_000, 'microseconds of processor time');
});

test('a domain with more policy than a bundle may hold is refused by name', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const active = { token: undefined, bundle: undefined, accessToken: undefined, idToken: undefined };
  const publisher = createBundlePublisher({
    snapshot: () => ({
      epoch: 0,
      counter: 1,
      head: '',
      domain: () => undefined,
      domains: new Map(),
      members: new Map(),
      bundleDomains: new Map(),
      disabledDomains: new Set(),
      outdatedDomains: new Set(),
      signingKeys: [],
    }),
    keys: { current: () => ({ ...active, published: [], missing: [] }), key: () => ({ kid: 'b', privateKey }) },
    clock: new FakeClock(),
    lifetimeSeconds: 7 * 86_400,
  });
  const json = async (version: number, entity: string, policyModified = 0) => {
    const content = domainContent({
      name: 'catalog',
      policies: { p: [['ALLOW', 'reader', 'read', entity]] },
    });
    const policies = content.policies.map((policy) => ({
      ...policy,
      modified: 0,
      assertions: policy.assertions.map((assertion) => ({ ...assertion, id: 1 })),
    }));
    const record = { ...content, policies, policyVersion: version, policyModified };
    const domain = compileDomain(record, runAtOnce(compileGrantsInSteps(record, 0)));
    return (await publisher.publish(domain, 'p1363').issue()).json;
  };
  t.true((await json(1, 'movie')).length < 2000);
  await t.throwsAsync(json(2, 'm'.repeat((maxBundleBytes / 4) * 3)), {
    name: 'ConflictError',
    message: 'domain `catalog` has more policy than a bundle may hold (33554432 bytes)',
  });
  const texts = [await json(3, 'movie', 1), await json(3, 'film', 2)].map((text) => {
    const payload = Buffer.from(JSON.parse(text).payload, 'base64url').toString();
    return ['catalog:movie', 'catalog:film'].filter((resource) => payload.includes(`"${resource}"`));
  });
  t.deepEqual(texts, [['catalog:movie'], ['catalog:film']], 'another history has another text under the same version');
});
