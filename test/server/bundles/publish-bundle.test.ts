import { generateKeyPairSync } from 'node:crypto';
import { maxBundleBytes } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import { matchesEntityTag } from '@signet/server/bundles/entity-tags';
import { issuedAt } from '@signet/server/bundles/issue-grid';
import { createBundlePublisher } from '@signet/server/bundles/publish-bundle';
import { compileDomain, compileGrantsInSteps } from '@signet/server/snapshot/compile-domain';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';

const day = 86_400_000;

/** A name whose grid is not shifted much: its points lie `shift` after those of the days. */
const name = parseDomainName('catalog');
const shift = issuedAt(10 * day, { name, policyModified: 0 }, 7 * day) % day;
const at = (days: number) => days * day + shift;

const grid: readonly (readonly [what: string, now: number, modified: number, issued: number])[] = [
  ['on the grid', at(10), 1, at(10)],
  ['a moment before the next point', at(11) - 1, 1, at(10)],
  ['between two points', at(10.5), 1, at(10)],
  ['changed after the last point', at(10.5), at(10.2), at(10.2)],
  ['changed before it', at(11), at(10.2), at(11)],
];

for (const [what, now, policyModified, issued] of grid) {
  test(`issued ${what}`, (t) => t.is(issuedAt(now, { name, policyModified }, 7 * day), issued));
}

test('a bundle never has less than six sevenths of its life left when it is served', (t) => {
  for (let now = 100 * day; now < 102 * day; now += 777_777)
    t.true(issuedAt(now, { name, policyModified: 0 }, 7 * day) + 7 * day - now >= 6 * day);
});

test('domains are issued spread over the time between two issues: no hour of a day has a tenth more or less than its part', (t) => {
  const hours = Array.from({ length: 24 }, () => 0);
  const domains = 24_000;
  for (let number = 0; number < domains; number += 1) {
    const issued = issuedAt(10 * day, { name: parseDomainName(`team${number}.service`), policyModified: 0 }, 7 * day);
    const hour = Math.floor((issued % day) / 3_600_000);
    hours[hour] = (hours[hour] ?? 0) + 1;
  }
  for (const count of hours) t.true(Math.abs(count - domains / 24) < domains / 240, `${count}`);
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
      isPart: false,
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
    return Buffer.concat((await publisher.publish(domain, 'p1363').issue()).json).toString();
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
