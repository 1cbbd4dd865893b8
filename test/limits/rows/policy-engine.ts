import { generateKeyPairSync, hash, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeySource, PolicyEngine, staticKeys } from '@signet/policy-engine';
import { buildBundle, signBundle, verifyBundle } from '@signet/policy-engine/bundle';
import { systemClock } from '@signet/policy-engine/clock';
import { canonicalPath } from '@signet/policy-engine/http';
import { bundleSuffix, domainFileName } from '@signet/policy-engine/internal/files';
import { didYouMean } from '@signet/policy-engine/internal/nearest';
import { writeLines } from '@signet/policy-engine/internal/output';
import { instanceHostName, parseDomainName } from '@signet/policy-engine/names';
import { compileDomain } from '@signet/policy-engine/policy';
import { verifyAccessToken } from '@signet/policy-engine/token';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';
import { elsewhere, inner, internals, maximum, type Row, refusal, same } from '../row.ts';

const noKeys = staticKeys({ keys: [] });
const clock = { now: () => 1_000_000 };

const { kty, crv, x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const keySet = { keys: [{ kty, crv, x, y, kid: 'k', alg: 'ES256', use: 'sig', purpose: 'token' }] };

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** A file of this size of JSON and blanks. */
function padded(folder: string, name: string, json: unknown, size: number): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(json).padEnd(size));
  return path;
}

/** Policy of `size` assertions, each for a role and an action of its own, all on one resource. */
function onOneResource(
  size: number,
  roleOf: (index: number) => string,
  actionOf: (index: number) => string,
  resource = 'thing',
) {
  const assertions = Array.from({ length: size }, (_, index) => ({
    effect: 'ALLOW' as const,
    role: roleOf(index),
    action: actionOf(index),
    resource,
  }));
  const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions }] }, {});
  const status = (role: string, action: string) =>
    engine.decideRoles({ domain: 'd', roles: [role], action, resource: 'thing' }).status;
  return assertions.every(
    ({ role, action }) =>
      status(role, action) === 'ALLOW' &&
      status(role, `${action}x`) !== 'ALLOW' &&
      status(`${role}x`, action) !== 'ALLOW',
  );
}

const claims = { iss: 'i', sub: 's.s', aud: 'd', exp: 2000, iat: 1, nbf: 1, jti: 'j', scp: ['r'], client_id: 's.s' };

async function readClaims(changed: object): Promise<boolean> {
  const { readClaims: read } = await internals<{
    readClaims(claims: object, kid: string, rules: object): object | string;
  }>('policy-engine/src/token/claims.ts');
  const rules = { issuers: new Set(['i']), audiences: undefined, now: 1_000_000, skewSeconds: 0 };
  return typeof read({ ...claims, ...changed }, 'k', rules) === 'object';
}

const instanceParts = { provider: 'p.q', domain: 'd', service: 's', instanceId: 'i' };
const sha256 = (text: string): Uint8Array => hash('sha256', text, 'buffer');

function isAllowed(more: { readonly action?: string; readonly resource?: string }): boolean {
  const assertions = [{ role: 'r', action: '*', resource: '*' }];
  const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions }] }, {});
  return engine.decideRoles({ domain: 'd', roles: ['r'], action: 'a', resource: 'r', ...more }).status === 'ALLOW';
}

function compiled(resource: string): unknown {
  return compileDomain('d', [{ name: 'p', assertions: [{ role: 'r', action: 'a', resource }] }]);
}

export const engineRows: readonly Row[] = [
  maximum('policy-engine/src/bundle/verify.ts', 'maxBundleBytes', async (size) => {
    const text = Buffer.alloc(size, ' ');
    const message = await refusal(() => verifyBundle(text, { domain: parseDomainName('d'), keys: noKeys, now: 0 }));
    return message !== '' && !message.includes('larger than');
  }),
  maximum('policy-engine/src/bundle/verify.ts', 'maxBundleLifeMs', async (ms) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const keys = staticKeys({ keys: [{ ...jwk, kid: 'k', alg: 'ES256', use: 'sig', purpose: 'bundle' }] } as never);
    const times = { modified: 0, issued: 0, expires: ms };
    const bundle = await signBundle(buildBundle({ domain: 'd', epoch: 0, version: 1, ...times, policies: [] }), {
      kid: 'k',
      privateKey,
    });
    await verifyBundle(JSON.stringify(bundle), { domain: parseDomainName('d'), keys, now: 0 });
  }),
  maximum('policy-engine/src/bundle/verify.ts', 'maxHeaderLength', async (length) => {
    const text = JSON.stringify({ payload: 'e30', protected: 'A'.repeat(length), signature: 'e30' });
    const options = { domain: parseDomainName('d'), keys: noKeys, now: 0 };
    return (await refusal(() => verifyBundle(text, options))).includes('the protected header is not JSON');
  }),
  elsewhere(
    'policy-engine/src/program-log.ts',
    'waitingBytes',
    'server/log/unwritable.test.ts',
    'a log that cannot be written costs lines, which are counted, and nothing else',
  ),
  maximum('policy-engine/src/program-output.ts', 'waitingOutputBytes', (size) => {
    let isWritten = false;
    const write = () => {
      isWritten = true;
    };
    const stream = { writableLength: 10, write, once: () => undefined };
    writeLines('x'.repeat(size - 10), stream as never);
    return isWritten;
  }),
  maximum('policy-engine/src/nearest.ts', 'maxCompared', (count) => {
    return didYouMean('reader', [...Array.from({ length: count - 1 }, (_, at) => `another-${at}`), 'raeder']) !== '';
  }),
  maximum('policy-engine/src/middleware/canonical-path.ts', 'maxPathLength', (length) => {
    return canonicalPath(`/${'a'.repeat(length - 1)}?${'b'.repeat(9)}`) !== undefined;
  }),
  maximum('policy-engine/src/bundle/succession.ts', 'maxVersionJump', async (jump) => {
    const { refuseSuccessor } = await internals<{ refuseSuccessor(next: object, floor: object): Error | undefined }>(
      'policy-engine/src/bundle/succession.ts',
    );
    const floor = { epoch: 7, version: 7, issued: 0, digest: 'x' };
    const version = refuseSuccessor({ ...floor, version: 7 + jump }, floor) === undefined;
    const epoch = refuseSuccessor({ ...floor, epoch: 7 + jump }, floor) === undefined;
    if (version !== epoch) throw new Error('epoch and version have other bounds');
    return version;
  }),
  maximum('policy-engine/src/certificates/certificate-chain.ts', 'maxIntermediates', async (count) => {
    const { issuedUntil } = await internals<{
      issuedUntil(chain: object, authorities: readonly X509Certificate[], now: number): number | undefined;
    }>('policy-engine/src/certificates/certificate-chain.ts');
    const pki = await createPki();
    const [leaf] = certificatesIn((await pki.identity('media.player')).certificate);
    const [issuer] = certificatesIn(pki.issuer.certificate);
    const chain = { leaf, intermediates: Array.from({ length: count }, () => issuer) };
    return issuedUntil(chain, certificatesIn(pki.bundle), systemClock.now()) !== undefined;
  }),
  maximum('policy-engine/src/json/scanner.ts', 'deepest', async (levels) => {
    const { parseStrictJson } = await internals<{ parseStrictJson(text: string): unknown }>(
      'policy-engine/src/json/strict-json.ts',
    );
    parseStrictJson('['.repeat(levels) + ']'.repeat(levels));
  }),
  same('policy-engine/src/token/parse-part.ts', 'maxOpenings', async (openings) => {
    const { parsePart } = await internals<{ parsePart(bytes: Uint8Array): object | undefined }>(
      'policy-engine/src/token/parse-part.ts',
    );
    return (
      parsePart(
        new TextEncoder().encode(
          `{"a":[${Array(openings - 2)
            .fill('{}')
            .join()}]}`,
        ),
      ) !== undefined
    );
  }),
  maximum('policy-engine/src/keys/decode-jwk.ts', 'maxKeys', (count) => {
    const keys = Array.from({ length: count }, (_, index) => ({ kty, crv, x, y, kid: `k${index}` }));
    return staticKeys({ keys } as never).leftOut?.length === 0;
  }),
  maximum('policy-engine/src/keys/remote-keys.ts', 'maxKeysBytes', async (size, t) => {
    const { openRemoteKeys } = await internals<{
      openRemoteKeys(remote: object, clock: object): Promise<{ close(): void }>;
    }>('policy-engine/src/keys/remote-keys.ts');
    const answer = async () => new Response(JSON.stringify(keySet).padEnd(size));
    const keys = await openRemoteKeys({ url: 'https://keys.test/', fetch: answer }, clock);
    t.teardown(() => keys.close());
  }),
  maximum('policy-engine/src/loader/decode-floors.ts', 'maxFloorsBytes', async (size, t) => {
    const { Floors } = await internals<{
      Floors: new (folder: string) => { refresh(): Promise<void>; of(domain: string): unknown };
    }>('policy-engine/src/loader/floors.ts');
    const folder = temporaryFolder(t);
    padded(folder, 'state.json', { floors: { d: { epoch: 1, version: 2 } } }, size);
    const floors = new Floors(folder);
    await floors.refresh();
    return floors.of('d') !== undefined;
  }),
  maximum('policy-engine/src/loader/directory-keys.ts', 'maxKeysBytes', async (size, t) => {
    const { DirectoryKeys } = await internals<{
      DirectoryKeys: new (folder: string) => KeySource & { refresh(): Promise<void>; error?: Error };
    }>('policy-engine/src/loader/directory-keys.ts');
    const folder = temporaryFolder(t);
    padded(folder, 'keys.json', { issuer: 'i', keys: [] }, size);
    const keys = new DirectoryKeys(folder);
    await keys.refresh();
    return keys.error === undefined;
  }),
  maximum('policy-engine/src/loader/open-keys.ts', 'maxKeysBytes', async (size, t) => {
    const { openKeys } = await internals<{
      openKeys(path: string, clock: object): Promise<{ close?: () => unknown; source?: unknown }>;
    }>('policy-engine/src/loader/open-keys.ts');
    const opened = await openKeys(padded(temporaryFolder(t), 'k.json', keySet, size), clock);
    t.teardown(() => void opened.close?.());
  }),
  maximum('policy-engine/src/names/instance-host-name.ts', 'maxNameLength', (size) => {
    const rest = instanceHostName(instanceParts, '', sha256).length;
    return instanceHostName(instanceParts, 'x'.repeat(size - rest), sha256).startsWith('i.');
  }),
  maximum('policy-engine/src/names/instance-host-name.ts', 'maxSuffixLength', (size) => {
    return instanceHostName({ ...instanceParts, instanceId: 'I' }, 'x'.repeat(size), sha256).length <= 253;
  }),
  maximum('policy-engine/src/names/names.ts', 'maxNameLength', (size) => parseDomainName('a'.repeat(size))),
  maximum('policy-engine/src/policy/explain.ts', 'maxNearMisses', async (size) => {
    const assertions = Array.from({ length: size }, (_, index) => ({
      effect: 'ALLOW' as const,
      role: `r${index}`,
      action: 'read',
      resource: 'thing',
    }));
    const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions }] }, {});
    const request = { domain: 'd', roles: ['none'], action: 'read', resource: 'thing' };
    const found = JSON.stringify(engine.explainRoles(request)).match(/"misses"/g) ?? [];
    return found.length === size;
  }),
  maximum('policy-engine/src/policy/ip-address.ts', 'maxAddressLength', async (size) => {
    const { parseAddress } = await internals<{ parseAddress(text: string): unknown }>(
      'policy-engine/src/policy/ip-address.ts',
    );
    return parseAddress('0000:0000:0000:0000:0000:ffff:255.255.255.255'.padEnd(size, '5')) !== undefined;
  }),
  inner(
    'policy-engine/src/policy/explain.ts',
    'widest',
    'the breadth of an assertion is 5 at most; it only spaces out a list',
  ),
  elsewhere(
    'policy-engine/src/policy/glob-parts.ts',
    'longestText',
    'policy-engine/policy/large-policy.test.ts',
    'a pattern of 256 characters and one of 257 are compared alike',
  ),
  same('policy-engine/src/policy/policy-index.ts', 'maxChain', (size) =>
    onOneResource(
      2 * size,
      (index) => `r${index % 2}`,
      (index) => `a${index}`,
    ),
  ),
  same('policy-engine/src/policy/pattern-index.ts', 'maxScanned', (size) =>
    onOneResource(
      size,
      (index) => `*r${index}`,
      (index) => `a${index}`,
      '*g',
    ),
  ),
  maximum('policy-engine/src/policy/work.ts', 'maxResourceLength', (size) => isAllowed({ resource: 'r'.repeat(size) })),
  maximum('policy-engine/src/policy/work.ts', 'maxActionLength', (size) => isAllowed({ action: 'a'.repeat(size) })),
  maximum('policy-engine/src/policy/work.ts', 'maxPatternLength', (size) => compiled(`${'r'.repeat(size - 1)}*`)),
  maximum('policy-engine/src/policy/work.ts', 'maxWildcards', (count) => compiled('r*'.repeat(count))),
  maximum('policy-engine/src/engine/decide-many.ts', 'maxRequests', async (count) => {
    const engine = PolicyEngine.fromDomains({
      d: [{ name: 'p', assertions: [{ role: 'r', action: 'a', resource: 'x' }] }],
    });
    const resources = Array.from({ length: count }, () => 'd:x');
    return (await engine.filterRoles({ domain: 'd', roles: ['r'], action: 'a', resources })).length === count;
  }),
  maximum('policy-engine/src/policy/work.ts', 'maxWork', async (units) => {
    const { Work } = await internals<{ Work: new () => { spend(units: number): void } }>(
      'policy-engine/src/policy/work.ts',
    );
    new Work().spend(units);
  }),
  maximum('policy-engine/src/policy/work.ts', 'maxExplainWork', async (units) => {
    const { Work, maxExplainWork } = await internals<{
      Work: new (limit: number) => { spend(units: number): void };
      maxExplainWork: number;
    }>('policy-engine/src/policy/work.ts');
    new Work(maxExplainWork).spend(units);
  }),
  maximum('policy-engine/src/steady-clock.ts', 'longestStep', async (ms) => {
    const { steadyClock } = await internals<{
      steadyClock(clock: object, monotonic: () => number): { now(): number; setBackMs: number };
    }>('policy-engine/src/steady-clock.ts');
    let now = 10_000_000;
    const steady = steadyClock({ now: () => now }, () => 0);
    steady.now();
    now -= ms;
    return steady.now() === 10_000_000 && steady.setBackMs === ms;
  }),
  elsewhere(
    'policy-engine/src/wire/token-bounds.ts',
    'maxIssuedTokenLength',
    'server/oauth/token-size.test.ts',
    'a token is as long as services accept, or refused with what to do',
  ),
  maximum('policy-engine/src/files/domain-file.ts', 'maxDomainInFileName', (length) => {
    const file = domainFileName('d'.repeat(length), bundleSuffix);
    return !file.startsWith('@') && `.${file}.0123456789abcdef.tmp`.length <= 255;
  }),
  inner('policy-engine/src/steps/slices.ts', 'maxSliceMs', 'it says when others have their turn, not what comes out'),
  maximum('policy-engine/src/token/claims.ts', 'latestTime', (exp) => readClaims({ exp })),
  maximum('policy-engine/src/wire/token-bounds.ts', 'maxTokenRoles', (count) =>
    readClaims({ scp: Array.from({ length: count }, (_, index) => `r${index}`) }),
  ),
  maximum('policy-engine/src/wire/token-bounds.ts', 'maxTokenLength', async (size) => {
    const options = { keys: noKeys, issuers: ['i'], audiences: undefined, now: 0 };
    const outcome = await verifyAccessToken('x'.repeat(size), options as never);
    return outcome.kind === 'invalid' && outcome.fault !== 'too-large';
  }),
];
