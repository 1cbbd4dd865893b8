import { createPublicKey, sign } from 'node:crypto';
import {
  type BundleFloor,
  buildBundle,
  freshUntil,
  maxBundleLifeMs,
  PolicyEngineError,
  signBundle,
  staticKeys,
  type VerifiedBundle,
  verifyBundle,
} from '@signet/policy-engine/bundle';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';
import { type AthenzKey, athenzBundle, athenzKey, athenzPayload, readerMayRead } from '#support/athenz';
import { signatureOf64Bytes } from '#support/p256';

/* Bundles of an Athenz server, text for text, with the option and without. */

const now = 1_767_225_600_000;
const day = 86_400_000;
const [ec, rsa, otherRsa] = [athenzKey('ES256'), athenzKey('RS256'), athenzKey('RS256', 'other')];
const rs512 = { ...otherRsa, kid: 'rs512', jwk: { ...otherRsa.jwk, kid: 'rs512', alg: 'RS512' } };
const keys = staticKeys({ keys: [ec, rsa, otherRsa, rs512].map(({ jwk }) => jwk) } as never);

interface Trial {
  readonly athenzBundles?: boolean;
  readonly floor?: BundleFloor;
  readonly keys?: Parameters<typeof verifyBundle>[1]['keys'];
}

function verify(text: string, trial: Trial = {}): Promise<VerifiedBundle> {
  return verifyBundle(text, { domain: parseDomainName('catalog'), keys, now, athenzBundles: true, ...trial });
}

async function codeOf(text: string, trial: Trial = {}): Promise<string> {
  try {
    await verify(text, trial);
    return 'good';
  } catch (error) {
    return error instanceof PolicyEngineError ? error.code : String(error);
  }
}

const forms: [note: string, text: string, without: string][] = [
  ['ES256, r and s', athenzBundle(ec), 'bundle-malformed'],
  ['ES256 in DER', athenzBundle(ec, {}, false), 'bundle-signature'],
  ['RS256', athenzBundle(rsa), 'bundle-signature'],
];
for (const [note, text, without] of forms) {
  test(`a bundle of Athenz with ${note} is read when told so, and only then`, async (t) => {
    const { digest, ...bundle } = await verify(text);
    const modified = now - 3_599_877;
    t.deepEqual<unknown, unknown>(bundle, {
      origin: 'athenz',
      domain: 'catalog',
      epoch: 0,
      version: modified,
      modified,
      issued: modified,
      expires: now + 7 * day,
      policies: [
        {
          name: 'catalog:policy.base',
          modified: '2025-12-31T23:00:00.123Z',
          version: '0',
          active: true,
          assertions: [readerMayRead],
        },
      ],
      kid: JSON.parse(text).header.kid,
    });
    t.regex(digest, /^athenz-1:[\w-]{43}$/);
    t.is(await codeOf(text, { athenzBundles: false }), without);
  });
}

test('the refusal without the option names it', async (t) => {
  await t.throwsAsync(verify(athenzBundle(ec), { athenzBundles: false }), { message: /`athenzBundles`/ });
});

/** The text with one part of it changed. */
function changed(text: string, change: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...JSON.parse(text), ...change });
}

/** A bundle whose header names `alg` and `kid`, signed by `key` as that one signs. */
function confused(key: AthenzKey, alg: string, kid = key.kid): string {
  return athenzBundle({ ...key, alg: alg as never, kid });
}

const [good, der, pkcs1] = forms.map(([, text]) => text) as [string, string, string];
const oneBit = (text: string) => {
  const octets = Buffer.from(JSON.parse(text).signature, 'base64url');
  octets[octets.length - 3] = (octets.at(-3) ?? 0) ^ 1;
  return changed(text, { signature: octets.toString('base64url') });
};
const derOctets = Buffer.from(JSON.parse(der).signature, 'base64url');
const faults: [note: string, text: string, code: string][] = [
  [
    'another payload',
    changed(good, { payload: JSON.parse(athenzBundle(ec, { domain: 'media' })).payload }),
    'bundle-signature',
  ],
  ['r and s that were changed', oneBit(good), 'bundle-signature'],
  ['a signature in DER that was changed', oneBit(der), 'bundle-signature'],
  ['an RSA signature that was changed', oneBit(pkcs1), 'bundle-signature'],
  ['an RSA signature cut off', changed(pkcs1, { signature: JSON.parse(pkcs1).signature.slice(4) }), 'bundle-signature'],
  ['no signature', changed(good, { signature: '' }), 'bundle-signature'],
  [
    'something behind the signature in DER',
    changed(der, { signature: Buffer.concat([derOctets, Buffer.of(0)]).toString('base64url') }),
    'bundle-signature',
  ],
  ['the key of an RSA signature named ES256', confused(rsa, 'ES256'), 'bundle-signature'],
  ['the key of an EC signature named RS256', confused(ec, 'RS256'), 'bundle-signature'],
  ['the name of another key of its kind', confused(rsa, 'RS256', 'other'), 'bundle-signature'],
  ['the name of a key of the other kind', confused(rsa, 'RS256', ec.kid), 'bundle-signature'],
  ['a key for RS512', confused(rs512, 'RS256'), 'bundle-signature'],
  ['an unknown key', confused(ec, 'ES256', 'zts.9'), 'bundle-key-unknown'],
  ['no algorithm of ours', confused(ec, 'none'), 'bundle-signature'],
  ['HS256', confused(rsa, 'HS256'), 'bundle-signature'],
  ['RS512', confused(rs512, 'RS512'), 'bundle-signature'],
  ['PS256', confused(rsa, 'PS256'), 'bundle-signature'],
  ['another name outside', changed(good, { header: { kid: rsa.kid } }), 'bundle-malformed'],
  ['another domain', athenzBundle(ec, { domain: 'media' }), 'bundle-domain'],
  [
    'an effect in small letters',
    athenzBundle(ec, { assertions: [{ ...readerMayRead, effect: 'allow' }] }),
    'bundle-malformed',
  ],
  ['the effect null', athenzBundle(ec, { assertions: [{ ...readerMayRead, effect: null }] }), 'bundle-malformed'],
  ['chosen versions of policies', athenzBundle(ec, { more: { policyVersions: { base: '1' } } }), 'bundle-malformed'],
  ['a version only', athenzBundle(ec, { more: { version: 7 } }), 'bundle-malformed'],
  ['an epoch only', athenzBundle(ec, { more: { epoch: 7 } }), 'bundle-malformed'],
  ['a time of issue only', athenzBundle(ec, { more: { issued: '2026-01-01T00:00:00.000Z' } }), 'bundle-malformed'],
  ['the version null', athenzBundle(ec, { more: { version: null } }), 'bundle-malformed'],
  ['no time of change', athenzBundle(ec, athenzPayload().replaceAll('modified', 'changed')), 'bundle-malformed'],
  ['a change 5 minutes ahead', athenzBundle(ec, { modified: formatTimestamp(now + 300_000) }), 'good'],
  ['a change further ahead', athenzBundle(ec, { modified: formatTimestamp(now + 300_001) }), 'bundle-not-yet-valid'],
  ['a change three years ago', athenzBundle(ec, { modified: '2023-01-01T00:00:00.000Z' }), 'good'],
  ['an end 90 days ahead', athenzBundle(ec, { expires: formatTimestamp(now + maxBundleLifeMs) }), 'good'],
  [
    'an end further ahead',
    athenzBundle(ec, { expires: formatTimestamp(now + maxBundleLifeMs + 1) }),
    'bundle-lifetime',
  ],
  ['an end that has come', athenzBundle(ec, { expires: formatTimestamp(now) }), 'bundle-expired'],
];
for (const [note, text, code] of faults) {
  test(`a bundle of Athenz with ${note}`, async (t) => t.is(await codeOf(text), code));
}

test('a signature in DER may be 64 bytes long, as r and s are', async (t) => {
  const { protected: head, payload } = JSON.parse(athenzBundle(ec));
  const { signature, jwk } = signatureOf64Bytes(`${head}.${payload}`);
  t.is(signature.length, 64);
  const own = staticKeys({ keys: [{ ...jwk, kid: ec.kid, alg: 'ES256', use: 'sig' }] } as never);
  const text = JSON.stringify({ payload, protected: head, signature: signature.toString('base64url') });
  t.is(await codeOf(text, { keys: own }), 'good');
  t.is(await codeOf(text), 'bundle-signature');
});

test('a key for RS512 verifies no bundle, not even its own', async (t) => {
  const [head = '', payload = ''] = ['{"kid":"rs512","alg":"RS256"}', athenzPayload()].map((part) =>
    Buffer.from(part).toString('base64url'),
  );
  const signature = sign('sha512', Buffer.from(`${head}.${payload}`), rs512.privateKey).toString('base64url');
  t.is(await codeOf(JSON.stringify({ payload, protected: head, signature })), 'bundle-signature');
});

test('a key of a source of one’s own must be as strong', async (t) => {
  const weak = athenzKey('RS256', 'weak', 1024);
  t.is(await codeOf(athenzBundle(weak), { keys: staticKeys({ keys: [weak.jwk] } as never) }), 'bundle-key-unknown');
  const how = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const imported = createPublicKey(weak.privateKey).toCryptoKey(how, false, ['verify']);
  t.is(await codeOf(athenzBundle(weak), { keys: { find: async () => imported } }), 'bundle-signature');
});

test('a missing effect is ALLOW in a bundle of Athenz, and in no other', async (t) => {
  const { effect: _, ...assertion } = readerMayRead;
  const bundle = await verify(athenzBundle(ec, { assertions: [assertion] }));
  t.deepEqual<unknown, unknown>(bundle.policies[0]?.assertions, [readerMayRead]);
  const own = { version: 1, epoch: 1, issued: '2026-01-01T00:00:00.000Z' };
  t.is(await codeOf(athenzBundle(ec, { more: own })), 'good');
  t.is(await codeOf(athenzBundle(ec, { more: own, assertions: [assertion] })), 'bundle-malformed');
});

test('the flag for capitals is one of storage, and changes no policy', async (t) => {
  const plain = await verify(athenzBundle(ec));
  const flagged = await verify(athenzBundle(ec, { assertions: [{ ...readerMayRead, caseSensitive: true }] }));
  t.deepEqual(flagged, plain);
});

test('a bundle of Signet is verified as ever: r and s only, and its effects said', async (t) => {
  const times = { modified: now, issued: now, expires: now + day };
  const data = buildBundle({ domain: 'catalog', epoch: 1, version: 3, ...times, policies: [] });
  const both = { domain: parseDomainName('catalog'), keys, now };
  for (const form of ['rfc7515', 'p1363'] as const) {
    const text = JSON.stringify(await signBundle(data, ec, form));
    const bundle = await verifyBundle(text, { ...both, athenzBundles: true });
    t.deepEqual(bundle, await verifyBundle(text, both));
    t.is(bundle.origin, undefined);
  }
  t.is(await codeOf(JSON.stringify(await signBundle(data, ec, 'der'))), 'bundle-signature');
  t.is(await codeOf(athenzBundle(rsa, JSON.stringify(data))), 'bundle-signature');
});

test('the older form is refused in words', async (t) => {
  const old = JSON.stringify({ signedPolicyData: {}, signature: 'x', keyId: '0' });
  await t.throwsAsync(verify(old), {
    code: 'bundle-malformed',
    message: /older form of Athenz.*jwsPolicySupport/,
  } as never);
});

function floorOf({ epoch, version, issued, digest }: VerifiedBundle): BundleFloor {
  return { epoch, version, issued, digest };
}

test('what may follow a bundle of Athenz goes by the time of change', async (t) => {
  const floor = floorOf(await verify(good));
  const other = [{ ...readerMayRead, action: 'write' }];
  const at = (modified: string, assertions = [readerMayRead]) => athenzBundle(ec, { modified, assertions });
  t.is(await codeOf(at('2025-12-31T23:00:00.123Z'), { floor }), 'good');
  t.is(await codeOf(athenzBundle(rsa, { expires: '2026-01-09T00:00:00.000Z' }), { floor }), 'good');
  t.is(await codeOf(at('2025-12-31T23:00:00.124Z', other), { floor }), 'good');
  t.is(await codeOf(at('2025-12-31T23:00:00.123Z', other), { floor }), 'bundle-equivocation');
  t.is(await codeOf(at('2025-12-31T23:00:00.122Z', other), { floor }), 'bundle-rollback');
  t.is(await codeOf(at('2025-12-31T23:00:00.122Z'), { floor }), 'bundle-rollback');
  await t.throwsAsync(verify(at('2025-12-31T23:00:00.122Z'), { floor }), {
    message:
      'bundle is older (of Athenz, modified 2025-12-31T23:00:00.122Z) than one accepted before (of Athenz, modified 2025-12-31T23:00:00.123Z)',
  });
});

test('a bundle of Signet follows any of Athenz, and none of Athenz follows one of Signet', async (t) => {
  const times = { modified: now, issued: now, expires: now + day };
  for (const epoch of [0, 1]) {
    const data = buildBundle({ domain: 'catalog', epoch, version: 1, ...times, policies: [] });
    const text = JSON.stringify(await signBundle(data, ec));
    t.is(await codeOf(text, { floor: floorOf(await verify(good)) }), 'good');
    t.is(await codeOf(good, { floor: floorOf(await verify(text)) }), 'bundle-rollback');
    // floors of 0.1 have no digest: they are of Signet
    t.is(await codeOf(good, { floor: { epoch, version: 1 } }), 'bundle-rollback');
  }
  const far = buildBundle({ domain: 'catalog', epoch: 1, version: 2 ** 32 + 1, ...times, policies: [] });
  t.is(
    await codeOf(JSON.stringify(await signBundle(far, ec)), { floor: floorOf(await verify(good)) }),
    'bundle-version-jump',
  );
});

test('a bundle of Athenz is due for a new one in the last quarter of a week', (t) => {
  const expires = now + 7 * day;
  const due = expires - 1.75 * day;
  t.is(freshUntil({ origin: 'athenz', issued: now - 700 * day, expires }), due);
  t.is(freshUntil({ origin: 'athenz', issued: now, expires }), due);
  t.is(freshUntil({ origin: 'athenz', issued: now, expires: now + day }), now + 0.75 * day);
  t.is(freshUntil({ issued: now - 21 * day, expires }), now);
});
