import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  PolicyEngine,
  PolicyEngineError,
  type PolicyEngineErrorCode,
  staticKeys,
  TokenVerifier,
} from '@signet/policy-engine';
import { maxBundleLifeMs, maxVersionJump, verifyBundle } from '@signet/policy-engine/bundle';
import { parseStrictJson } from '@signet/policy-engine/json';
import { parseDomainName } from '@signet/policy-engine/names';
import { maxResourceLength } from '@signet/policy-engine/policy';
import { createTestAuthority, type TestBundleInput, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { unionIn } from '#support/union-in';

/* Rows of the table of refusals (docs/reference/decisions.md#what-is-refused) for calls, bundles, directories and keys, each with a case that runs. */

const day = 86_400_000;
const authority = await createTestAuthority();
const other = await createTestAuthority({ clock: authority.clock });
const policies = [
  { name: 'p', assertions: [{ role: 'catalog:role.reader', action: 'read', resource: 'catalog:movie' }] },
];
const domain = parseDomainName('catalog');
const bundle = async (more: Partial<TestBundleInput> = {}) =>
  JSON.stringify(await authority.bundle({ domain, policies, ...more }));

type Rules = Partial<Parameters<typeof verifyBundle>[1]>;
async function verified(text: string, more: Rules = {}): Promise<unknown> {
  const options = { domain, keys: staticKeys(authority.keys), now: authority.clock.now(), ...more };
  return verifyBundle(Buffer.from(text), options);
}
const floorAt = (version: number, more: object = {}) => ({ floor: { epoch: 0, version, ...more } });

/** Replaces part of the signed payload, with the signature of before. */
async function withOtherPayload(): Promise<string> {
  const [one, two] = await Promise.all([bundle(), bundle({ version: 2 })]);
  return JSON.stringify({ ...JSON.parse(two), signature: JSON.parse(one).signature });
}

interface Place {
  readonly policyDir: string;
  readonly floorFile: string;
}

/** Opens an engine over a good directory that `spoil` makes a bad one; throws, or answers what its health tells. */
async function opened(t: ExecutionContext, spoil: (place: Place) => void | Promise<void>, withFloor = false) {
  const policyDir = join(temporaryFolder(t), 'policies');
  const place = { policyDir, floorFile: join(policyDir, '..', 'floors.json') };
  await authority.writeBundle(policyDir, { domain, policies });
  await spoil(place);
  const { clock } = authority;
  const engine = await PolicyEngine.open({
    policyDir,
    clock,
    watch: false,
    ...(withFloor && { floorFile: place.floorFile }),
  });
  const { error, domains } = engine.health();
  await engine.close();
  const told = error ?? domains.find((one) => one.error !== undefined)?.error;
  if (told !== undefined) throw new PolicyEngineError(told.code, told.message);
}

/** Keys at an address are replaced by ones that share none with them. */
async function replacedKeys(): Promise<void> {
  const clock = new TestClock();
  const [genuine, other] = [await createTestAuthority({ clock }), await createTestAuthority({ clock })];
  let answered = genuine.keys;
  using verifier = await TokenVerifier.open({
    keys: { url: 'https://tokens.example/v1/oauth2/keys', fetch: async () => Response.json(answered) },
    issuers: [genuine.issuer],
    audiences: [domain],
    clock,
  });
  answered = other.keys;
  clock.advance(30_000);
  await verifier.verify({ token: await other.token({ domain, roles: ['reader'] }) });
  if (verifier.keysError !== undefined) throw verifier.keysError;
}

async function failedRequest(): Promise<void> {
  const errors: PolicyEngineError[] = [];
  const engine = PolicyEngine.fromDomains({ catalog: policies }, { onError: (error) => errors.push(error) });
  const roles = new Proxy(['reader'], { get: () => JSON.parse('') });
  const { status } = engine.decideRoles({ domain, roles, action: 'read', resource: 'catalog:movie' });
  await engine.close();
  if (status === 'DENY_INVALID_PARAMETERS' && errors[0] !== undefined) throw errors[0];
}

const cases: Readonly<Record<PolicyEngineErrorCode, (t: ExecutionContext) => unknown>> = {
  'invalid-name': () => parseDomainName('a..b'),
  'invalid-options': () => PolicyEngine.fromDomains({ catalog: policies }, { skewSeconds: -1 }),
  'invalid-json': () => parseStrictJson('{"a":1,"a":2}'),
  'request-failed': failedRequest,
  'bundle-malformed': () => verified('{}'),
  'bundle-signature': async () => verified(await withOtherPayload()),
  'bundle-key-unknown': async () => verified(await bundle(), { keys: staticKeys(other.keys) }),
  'bundle-domain': async () => verified(await bundle(), { domain: parseDomainName('media') }),
  'bundle-expired': async () => verified(await bundle(), { now: authority.clock.now() + 8 * day }),
  'bundle-not-yet-valid': async () => verified(await bundle(), { now: authority.clock.now() - day }),
  'bundle-rollback': async () => verified(await bundle(), floorAt(2)),
  'bundle-equivocation': async () => verified(await bundle(), floorAt(1, { digest: `policies-1:${'A'.repeat(43)}` })),
  'bundle-issued-earlier': async () => verified(await bundle(), floorAt(1, { issued: authority.clock.now() + 1 })),
  'bundle-version-jump': async () => verified(await bundle({ version: maxVersionJump + 1 })),
  'bundle-lifetime': async () => verified(await bundle({ expiresIn: maxBundleLifeMs + 1000 })),
  'bundle-unreadable': (t) => opened(t, ({ policyDir }) => mkdirSync(join(policyDir, 'media.pol'))),
  'directory-unsafe': (t) => opened(t, ({ policyDir }) => chmodSync(policyDir, 0o777)),
  'policy-missing': (t) => opened(t, ({ policyDir }) => rmSync(join(policyDir, 'catalog.pol'))),
  'floor-unavailable': (t) => opened(t, ({ floorFile }) => writeFileSync(floorFile, 'x'), true),
  'keys-malformed': () => staticKeys({ keys: [JSON.parse('{"kty":"oct","kid":"a","k":"AA"}')] }),
  'keys-unavailable': (t) =>
    PolicyEngine.open({ policyDir: join(temporaryFolder(t), 'none'), keys: '/nonexistent/keys.json', watch: false }),
  'keys-replaced': replacedKeys,
};

test('decisions.md: what a call, a bundle, a directory or a key set is refused for has the code of the table', async (t) => {
  t.deepEqual(Object.keys(cases).toSorted(), unionIn('errors.ts', 'PolicyEngineErrorCode').toSorted());
  await t.notThrowsAsync(async () => verified(await bundle()), 'the usual bundle is good');
  await t.notThrowsAsync(() => opened(t, () => undefined, true), 'the usual directory is good');
  for (const [code, refused] of Object.entries(cases)) {
    await t.throwsAsync(async () => refused(t), { instanceOf: PolicyEngineError, code }, code);
  }
});

test('decisions.md: what is refused for its time, its certificate or its cost has the status of the table', async (t) => {
  const glob = (index: number) => ({
    role: 'reader',
    action: 'read',
    resource: `*${'a'.repeat(400)}*${'a'.repeat(390)}b${index}?*`,
  });
  const dear = Array.from({ length: 20_000 }, (_, index) => glob(index));
  const engine = authority.engine({ catalog: policies, dear: [{ name: 'p', assertions: dear }] });
  const bound = authority.certificate('media.player');
  const asked = { action: 'read', resource: 'catalog:movie' };
  const token = (more: object = {}) => authority.token({ domain, roles: ['reader'], certificate: bound, ...more });
  const good = { ...asked, token: await token(), certificate: bound.pem };
  t.is((await engine.decide(good)).status, 'ALLOW');
  t.is((await engine.decide({ ...good, token: await token({ expiresInSeconds: -1 }) })).status, 'DENY_TOKEN_EXPIRED');
  t.is((await engine.decide({ ...good, certificate: undefined })).status, 'DENY_CERT_HASH_MISMATCH');
  t.is((await engine.decide({ ...good, certificate: authority.ca.pem })).status, 'DENY_CERT_HASH_MISMATCH');
  t.is(
    (await engine.decide({ ...good, token: await token({ certificate: undefined }) })).status,
    'DENY_CERT_HASH_MISMATCH',
  );
  const resource = `dear:${'a'.repeat(maxResourceLength - 5)}`;
  t.is(
    engine.decideRoles({ domain: 'dear', roles: ['reader'], action: 'read', resource }).status,
    'DENY_BUDGET_EXCEEDED',
  );
  await engine.close();
});

test('decisions.md: a domain whose policy is past its end has the status of the table', async (t) => {
  const policyDir = join(temporaryFolder(t), 'policies');
  const own = await createTestAuthority();
  await own.writeBundle(policyDir, { domain, policies });
  const engine = await PolicyEngine.open({ policyDir, clock: own.clock, watch: false });
  const ask = () => engine.decideRoles({ domain, roles: ['reader'], action: 'read', resource: 'catalog:movie' }).status;
  t.is(ask(), 'ALLOW');
  own.clock.advance(8 * day);
  t.is(ask(), 'DENY_DOMAIN_EXPIRED');
  await engine.close();
});
