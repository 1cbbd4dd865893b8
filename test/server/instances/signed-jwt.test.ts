import { KeyObject, randomUUID, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { boundedFetch } from '@signet/server/base/bounded-fetch';
import { ForbiddenError, ServiceUnavailableError } from '@signet/server/errors';
import type { AttestationRequest } from '@signet/server/instances/attestation/attestation';
import { ProviderFailedError } from '@signet/server/instances/attestation/attestation';
import { openJwtProvider } from '@signet/server/instances/attestation/jwt-keys';
import { signedJwtProvider } from '@signet/server/instances/attestation/signed-jwt';
import type { InstanceStore } from '@signet/server/model/instance-store';
import test, { type ExecutionContext } from 'ava';
import { CompactSign, errors, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

const clock = new FakeClock();
const now = clock.now() / 1000;
const pair = await generateKeyPair('RS256', { extractable: true });

const request: AttestationRequest = {
  operation: 'register',
  provider: parsePrincipalName('sys.k8s'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('pod-1'),
  attestationData: '',
  altNames: [],
  clientAddress: '127.0.0.1',
};

const claims = {
  iss: 'https://cluster.example',
  aud: ['https://signet.example'],
  sub: 'system:serviceaccount:media:player',
  iat: now - 10,
  exp: now + 600,
  'kubernetes.io': { namespace: 'media', pod: { uid: 'pod-1' } },
};

const jwtOptions = {
  issuer: 'https://cluster.example',
  audience: 'https://signet.example',
  subject: 'system:serviceaccount:{domain}:{service}',
  maxAgeSeconds: 3600,
};

/** Store's record of used tokens. */
function tokenUses(): Pick<InstanceStore, 'spendAttestationToken'> {
  const known = new Map<string, string>();
  return {
    spendAttestationToken: async (digest, key) => {
      const instance = `${key.provider}/${key.domain}/${key.service}/${key.instanceId}`;
      const before = known.get(digest);
      known.set(digest, before ?? instance);
      return before === undefined ? 'first' : before === instance ? 'again' : 'foreign';
    },
  };
}

async function open(t: ExecutionContext, keysUrl?: string, instances = tokenUses()) {
  const keysFile = join(temporaryFolder(t), 'keys.json');
  writeFileSync(
    keysFile,
    JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'RS256' }] }),
  );
  const options = {
    ...jwtOptions,
    claims: { 'kubernetes\\.io.namespace': '{domain}', 'kubernetes\\.io.pod.uid': '{instanceId}' },
    ...(keysUrl === undefined ? { keysFile } : { keysUrl }),
  };
  return openJwtProvider(options, { clock, instances, fetch: boundedFetch(undefined) });
}

function signed(
  changes: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const merged = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  );
  return new SignJWT(merged).setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header }).sign(pair.privateKey);
}

test('a token of the configured issuer for this very service attests it', async (t) => {
  const provider = await open(t);
  const attestationData = await signed({});
  t.deepEqual(await provider.attest({ ...request, attestationData }), {
    usage: 'both',
    recorded: true,
    ssh: true,
    attributes: {},
  });
});

test('a token with a member twice, in its claims or its header, attests nothing', async (t) => {
  const provider = await open(t);
  const [, payload = ''] = (await signed({})).split('.');
  const text = Buffer.from(payload, 'base64url').toString();
  const twice = [text.replace('{', '{"sub":"other",'), text.replace('"namespace"', '"namespace":"x","namespace"')];
  for (const changed of twice) {
    const attestationData = await new CompactSign(Buffer.from(changed))
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(pair.privateKey);
    await t.throwsAsync(provider.attest({ ...request, attestationData }), { instanceOf: ForbiddenError }, changed);
  }
  const header = Buffer.from('{"alg":"RS256","kid":"k0","kid":"k1"}').toString('base64url');
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), KeyObject.from(pair.privateKey as never));
  const attestationData = `${header}.${payload}.${signature.toString('base64url')}`;
  await t.throwsAsync(provider.attest({ ...request, attestationData }), { instanceOf: ForbiddenError });
});

test('a token of before the service was made again attests nothing for its successor', async (t) => {
  const provider = await open(t);
  const issuedAt = claims.iat * 1000;
  const attest = async (credentialsFrom: number) =>
    provider.attest({ ...request, credentialsFrom, attestationData: await signed({ jti: randomUUID() }) });
  await t.notThrowsAsync(attest(issuedAt));
  await t.throwsAsync(attest(issuedAt + 1), {
    instanceOf: ForbiddenError,
    message: /before the service was made again$/,
  });
});

test('keys that the issuer puts into the file count at once, those that it takes out soon not', async (t) => {
  const keysFile = join(temporaryFolder(t), 'keys.json');
  const other = await generateKeyPair('RS256', { extractable: true });
  const write = async (...keys: readonly (readonly [kid: string, key: typeof pair.publicKey])[]) => {
    const jwks = keys.map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid, alg: 'RS256' }));
    writeFileSync(keysFile, JSON.stringify({ keys: await Promise.all(jwks) }));
  };
  await write(['k1', pair.publicKey]);
  const own = new FakeClock();
  const provider = await openJwtProvider(
    { ...jwtOptions, claims: {}, keysFile },
    { clock: own, instances: tokenUses(), fetch: boundedFetch(undefined) },
  );
  const ask = async (kid: string, key: typeof pair.publicKey) => {
    const attestationData = await new SignJWT({ ...claims, jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(key);
    return provider.attest({ ...request, attestationData }).then(
      () => true,
      (error: unknown) => (error instanceof ForbiddenError ? false : Promise.reject(error)),
    );
  };
  t.deepEqual([await ask('k1', pair.privateKey), await ask('k2', other.privateKey)], [true, false]);
  await write(['k1', pair.publicKey], ['k2', other.publicKey]);
  const atOnce = Array.from({ length: 8 }, () => ask('k2', other.privateKey));
  t.deepEqual(await Promise.all(atOnce), Array(8).fill(true), 'for all that come with it at one time');
  t.deepEqual([await ask('k2', other.privateKey), await ask('k1', pair.privateKey)], [true, true]);
  writeFileSync(keysFile, '{"keys":');
  own.advance(30_000);
  t.true(await ask('k2', other.privateKey), 'half a file changes nothing');
  await write(['k2', other.publicKey]);
  t.true(await ask('k1', pair.privateKey), 'for so long the file is not looked at');
  own.advance(30_000);
  t.deepEqual([await ask('k1', pair.privateKey), await ask('k2', other.privateKey)], [false, true]);
  await write(['k1', pair.publicKey]);
  own.advance(29_999);
  t.true(await ask('k2', other.privateKey));
  own.advance(1);
  t.false(await ask('k2', other.privateKey));
});

const refusals: readonly (readonly [name: string, changes: Readonly<Record<string, unknown>>, message: RegExp])[] = [
  ['another issuer', { iss: 'https://cluster.example/' }, /with another issuer$/],
  ['another audience', { aud: 'https://other.example' }, /with another audience$/],
  ['no audience', { aud: undefined }, /with another audience$/],
  ['other audiences', { aud: ['https://other.example'] }, /with another audience$/],
  ['a time of issue that is a text', { iat: `${now - 10}` }, /with no time of issue/],
  ['a claim within nothing', { 'kubernetes.io': null }, /names something else$/],
  ['another subject', { sub: 'system:serviceaccount:media:admin' }, /claim `sub` names something else$/],
  [
    'another namespace',
    { 'kubernetes.io': { namespace: 'sports', pod: { uid: 'pod-1' } } },
    /claim `kubernetes\\.io\.namespace` names something else$/,
  ],
  [
    'another instance',
    { 'kubernetes.io': { namespace: 'media', pod: { uid: 'pod-2' } } },
    /pod\.uid` names something else$/,
  ],
  ['a claim that is missing', { 'kubernetes.io': undefined }, /names something else$/],
  ['no end', { exp: undefined }, /with no time left$/],
  ['an end that has passed', { exp: now - 60 }, /with no time left$/],
  ['an end that is a text', { exp: '9999999999' }, /with no time left$/],
  ['no time of issue', { iat: undefined }, /with no time of issue/],
  ['a time of issue in the future', { iat: now + 61 }, /with no time of issue/],
  ['a time of issue long ago', { iat: now - 3661 }, /too long ago$/],
  ['a start that is a text', { nbf: '1' }, /with a start in the future$/],
  ['a start in the future', { nbf: now + 61 }, /with a start in the future$/],
];
for (const [name, changes, message] of refusals) {
  test(`refused: ${name}`, async (t) => {
    const provider = await open(t);
    const attestationData = await signed(changes);
    await t.throwsAsync(provider.attest({ ...request, attestationData }), { instanceOf: ForbiddenError, message });
  });
}

const edges: readonly (readonly [name: string, changes: Readonly<Record<string, unknown>>])[] = [
  ['an end within the allowance', { exp: now - 59 }],
  ['a time of issue at the end of the allowance', { iat: now + 60 }],
  ['a time of issue as long ago as may be', { iat: now - 3660 }],
  ['a start at the end of the allowance', { nbf: now + 60 }],
  ['one audience, not in a list', { aud: 'https://signet.example' }],
];
for (const [name, changes] of edges) {
  test(`accepted: ${name}`, async (t) => {
    const provider = await open(t);
    t.like(await provider.attest({ ...request, attestationData: await signed(changes) }), { usage: 'both' });
  });
}

test('refused: what was not signed by the issuer', async (t) => {
  const provider = await open(t);
  const good = await signed({});
  const [header = '', , signature = ''] = good.split('.');
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'system:serviceaccount:media:admin' })).toString(
    'base64url',
  );
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${forged}.`;
  const other = await generateKeyPair('RS256');
  const foreign = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(other.privateKey);
  for (const attestationData of [
    `${header}.${forged}.${signature}`,
    none,
    foreign,
    'a.b.c',
    '',
    'x'.repeat(20_000),
    await signed({}, { kid: 'k2' }),
  ]) {
    await t.throwsAsync(provider.attest({ ...request, attestationData }), { instanceOf: ForbiddenError });
  }
});

test('keys that cannot be had are not the fault of the instance', async (t) => {
  const provider = await open(t, 'https://127.0.0.1:1/keys');
  const attestationData = await signed({});
  await t.throwsAsync(provider.attest({ ...request, attestationData }), { instanceOf: ProviderFailedError });
});

/** A provider whose keys are at an address; `state` says what is answered there. */
async function openAtAddress() {
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'RS256' };
  const state = { asked: 0, answer: () => new Response(JSON.stringify({ keys: [jwk] })) };
  const own = new FakeClock();
  const provider = await openJwtProvider(
    { ...jwtOptions, claims: {}, keysUrl: 'https://ci.example/keys' },
    {
      clock: own,
      instances: tokenUses(),
      fetch: async () => {
        state.asked += 1;
        return state.answer();
      },
    },
  );
  const outcome = async (kid = 'k1') => {
    const [iat, exp] = [own.now() / 1000 - 10, own.now() / 1000 + 600];
    const attestationData = await signed({ jti: randomUUID(), iat, exp }, { kid });
    return provider.attest({ ...request, attestationData }).then(
      () => 'attested',
      (error: Error) => error.name,
    );
  };
  return { state, own, outcome };
}

const noKeys: readonly (readonly [note: string, answer: () => Response])[] = [
  ['with an error', () => new Response('', { status: 500 })],
  ['with a redirect', () => new Response('', { status: 302, headers: { location: 'https://other.example/' } })],
  ['with something else', () => new Response('<html>')],
  ['without keys', () => new Response('{"keys":[]}')],
];
for (const [note, answer] of noKeys) {
  test(`an address of keys that answers ${note} is asked after a pause, and what is known counts for an hour`, async (t) => {
    const { state, own, outcome } = await openAtAddress();
    t.is(await outcome(), 'attested');
    state.answer = answer;
    own.advance(600_000);
    t.deepEqual(
      [await outcome(), await outcome(), await outcome('k2')],
      ['attested', 'attested', 'ProviderFailedError'],
    );
    t.is(state.asked, 2);
    own.advance(3_000_000);
    t.deepEqual([await outcome(), await outcome()], ['ProviderFailedError', 'ProviderFailedError']);
    t.is(state.asked, 3);
  });
}

test('a clock that is set back does not keep keys at an address that were taken out', async (t) => {
  const { state, own, outcome } = await openAtAddress();
  t.is(await outcome(), 'attested');
  const other = { ...(await exportJWK(pair.publicKey)), kid: 'k2', alg: 'RS256' };
  state.answer = () => new Response(JSON.stringify({ keys: [other] }));
  own.advance(-86_400_000);
  t.deepEqual([await outcome(), await outcome('k2')], ['ForbiddenError', 'attested']);
});

test('a token attests one registration, and refreshes of the very instance after it', async (t) => {
  const provider = await open(t);
  const attestationData = await signed({ jti: randomUUID() });
  const ask = (operation: 'register' | 'refresh') =>
    provider.attest({ ...request, operation, attestationData }).then(
      () => true,
      (error: unknown) =>
        error instanceof ForbiddenError && error.message === 'attestationData is a token that was used before'
          ? false
          : Promise.reject(error),
    );
  t.deepEqual([await ask('register'), await ask('register'), await ask('refresh')], [true, false, true]);
});

test('a token that another instance showed refreshes none', async (t) => {
  const provider = await open(t, undefined, { spendAttestationToken: async () => 'foreign' });
  await t.throwsAsync(provider.attest({ ...request, operation: 'refresh', attestationData: await signed({}) }), {
    instanceOf: ForbiddenError,
    message: 'attestationData is a token that was used before',
  });
});

/* Errors of an issuer's keys: unavailable, or without the one that signed. */
const keyFaults: readonly (readonly [note: string, fault: Error, type: new (...args: never) => Error])[] = [
  ['they cannot be had', new ProviderFailedError('they cannot be had'), ProviderFailedError],
  ['nobody answers for them', new ServiceUnavailableError('nobody answers'), ServiceUnavailableError],
  ['they do not know it', new errors.JWKSNoMatchingKey(), ForbiddenError],
  ['it does not fit the algorithm', new TypeError('the key is of another type'), ForbiddenError],
  ['something else is wrong about fetching', new Error('fetch failed'), ForbiddenError],
];
for (const [note, fault, type] of keyFaults) {
  test(`a token whose key cannot be found, as ${note}`, async (t) => {
    const keys = () => Promise.reject(fault);
    const provider = signedJwtProvider({ issuer: { ...jwtOptions, claims: {} }, keys, clock, instances: tokenUses() });
    await t.throwsAsync(provider.attest({ ...request, attestationData: await signed({}) }), { instanceOf: type });
  });
}

test('so long a text, and one character more', async (t) => {
  const provider = await open(t);
  const refusal = (length: number) =>
    t.throwsAsync(provider.attest({ ...request, attestationData: 'x'.repeat(length) }));
  t.is((await refusal(16_384))?.message, 'attestationData is not a valid token of the configured issuer');
  t.is((await refusal(16_385))?.message, 'attestationData is too long for a token');
});

const ids: readonly (readonly [note: string, first: unknown, second: unknown, outcome: string])[] = [
  ['the same id', 'a', 'a', 'attestationData is a token that was used before'],
  ['another id', 'a', 'b', 'taken'],
  ['no id, and another time of issue', undefined, undefined, 'taken'],
  ['an id that is a number', 'a', 7, 'attestationData is a token with a `jti` that is not a string'],
];
for (const [note, first, second, outcome] of ids) {
  test(`a second token with ${note}`, async (t) => {
    const provider = await open(t);
    await provider.attest({ ...request, attestationData: await signed({ jti: first }) });
    const again = provider.attest({ ...request, attestationData: await signed({ jti: second, iat: now - 11 }) });
    t.is(
      await again.then(
        () => 'taken',
        (error: Error) => error.message,
      ),
      outcome,
    );
  });
}

test('a token counts as used until its end or the greatest age, and a minute more', async (t) => {
  const ends: number[] = [];
  const instances: Pick<InstanceStore, 'spendAttestationToken'> = {
    spendAttestationToken: async (_digest, _key, end) => {
      ends.push(end);
      return 'first';
    },
  };
  const provider = await open(t, undefined, instances);
  for (const exp of [now + 600, now + 9999])
    await provider.attest({ ...request, attestationData: await signed({ exp }) });
  t.deepEqual(ends, [now + 660, now - 10 + 3600 + 60]);
});
