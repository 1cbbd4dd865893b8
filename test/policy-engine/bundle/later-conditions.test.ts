import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buildBundle, signBundle, staticKeys, verifyBundle } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import { compileDomain, type DecisionContext, decideInDomain } from '@signet/policy-engine/policy';
import type { Jwk, WirePolicy } from '@signet/policy-engine/wire';
import test from 'ava';

/*
 * Compatibility of the engine of 0.1 with present bundles. The file was written by that very engine: it opened a policy directory with each
 * `bundle`, signed, and answered `a` (the assertion under the condition) and `b` (another one of the same policy) on `x`.
 */

interface Case {
  readonly note: string;
  readonly effect: 'ALLOW' | 'DENY';
  readonly policies: readonly WirePolicy[];
  /** The policies of the bundle. */
  readonly bundle: readonly WirePolicy[];
  readonly answer: string;
  readonly other: string;
}

const { context, cases }: { readonly context: DecisionContext; readonly cases: readonly Case[] } = JSON.parse(
  readFileSync(new URL('../../support/cases/engine-0.1.json', import.meta.url), 'utf8'),
);

const now = 1_767_225_600_000;
const domain = parseDomainName('d');
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
const jwk: Jwk = { kty: 'EC', crv: 'P-256', x, y, kid: 'k', alg: 'ES256', use: 'sig', purpose: 'bundle' };

const dataOf = (policies: readonly WirePolicy[]) =>
  buildBundle({ domain, epoch: 1, version: 1, modified: now, issued: now, expires: now + 1, policies });

async function read(policies: readonly WirePolicy[]) {
  const jws = await signBundle(dataOf(policies), { kid: 'k', privateKey });
  return verifyBundle(JSON.stringify(jws), { domain, keys: staticKeys({ keys: [jwk] }), now });
}

async function answersOf(policies: readonly WirePolicy[]) {
  const bundle = await read(policies);
  const active = bundle.policies.filter((policy) => policy.active !== false);
  const compiled = compileDomain('d', active);
  return ['a', 'b'].map((action) => decideInDomain(compiled, ['r'], action, 'x', context).status);
}

for (const { note, effect, policies, bundle, answer, other } of cases) {
  test(`${effect} under ${note}: 0.1 allows nothing that this engine does not`, async (t) => {
    t.deepEqual(dataOf(policies).policyData.policies, bundle, 'not the bundle that 0.1 was asked with');
    const isKnown = note.startsWith('EQUALS');
    const [mine, others] = await answersOf(policies);
    if (isKnown) t.is(answer, String(mine));
    else t.is(answer, effect === 'ALLOW' ? 'DENY_NO_MATCH' : 'DENY');
    t.is(mine === 'ALLOW', note.endsWith(effect === 'ALLOW' ? 'that holds' : 'does not hold'));
    t.deepEqual([other, others], ['ALLOW', 'ALLOW']);
  });
}

const later = cases.find(({ note, effect }) => note === 'NOT_EQUALS that holds' && effect === 'ALLOW')?.policies ?? [];

test('a bundle reads as the policies that it was made of, but for the order of its rules', async (t) => {
  const { policies } = await read(later);
  const rulesOf = (all: readonly WirePolicy[]) =>
    all.flatMap(({ name, version, active, assertions }) =>
      assertions.map((rule) => JSON.stringify({ name, version, active, rule })),
    );
  t.is(rulesOf(later).length, 2);
  t.deepEqual(rulesOf(policies).sort(), rulesOf(later).sort());
});

test('what is in no bundle stays out of force: a policy that is not active, whatever its conditions', async (t) => {
  const off = later.map((policy) => ({ ...policy, active: false }));
  t.deepEqual(dataOf(off).policyData.policies, off);
  t.true((await read(off)).policies.every(({ active }) => active === false));
});

test('two bundles that differ in such a rule alone have other digests', async (t) => {
  const changed = structuredClone(later) as WirePolicy[];
  const condition = changed[0]?.assertions[0]?.conditions?.conditionsList[0]?.conditionsMap['instances'];
  if (condition === undefined) return t.fail();
  condition.value = 'h3';
  const without = later.map((policy) => ({ ...policy, assertions: policy.assertions.slice(1) }));
  const digests = await Promise.all([later, changed, without].map(async (all) => (await read(all)).digest));
  t.is(new Set(digests).size, 3);
});
