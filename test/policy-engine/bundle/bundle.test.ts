import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  type BundleInput,
  buildBundle,
  maxBundleBytes,
  maxBundleLifeMs,
  maxVersionJump,
  PolicyEngineError,
  signBundle,
  staticKeys,
  type VerifyBundleOptions,
  verifyBundle,
} from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import test from 'ava';
import { flattenedVerify } from 'jose';

const now = 1_767_225_600_000;
const domain = parseDomainName('catalog');

function keyPair(kid: string, purpose?: KeyPurpose, crv = 'P-256'): { kid: string; privateKey: KeyObject; jwk: Jwk } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', kid, alg: 'ES256', use: 'sig', crv, x, y, ...(purpose !== undefined && { purpose }) };
  return { kid, privateKey, jwk };
}
const key = keyPair('k1', 'bundle');
const tokenKey = keyPair('k2', 'token');
const keys = staticKeys({ keys: [key.jwk, tokenKey.jwk] });

const input: BundleInput = {
  domain: 'catalog',
  epoch: 1,
  version: 7,
  modified: now - 2000,
  issued: now - 1000,
  expires: now + 1000,
  policies: [
    {
      name: 'catalog:policy.readers',
      modified: '2026-01-01T00:00:00.000Z',
      version: '0',
      active: true,
      assertions: [
        { id: 1, role: 'catalog:role.reader', resource: 'catalog:mo"v\\i&e', action: 'read', effect: 'ALLOW' },
      ],
    },
  ],
};

const good = await signBundle(buildBundle(input), key);
const otherGood = await signBundle(buildBundle({ ...input, version: 8 }), key);

async function codeOf(bytes: Uint8Array | string, options: Partial<VerifyBundleOptions> = {}): Promise<string> {
  try {
    await verifyBundle(bytes, { domain, keys, now, ...options });
    return 'good';
  } catch (error) {
    return error instanceof PolicyEngineError ? error.code : `not ours: ${error}`;
  }
}

/** A JWS over any payload and header text, signed correctly. */
function signed(payload: string | Uint8Array, header = '{"kid":"k1","alg":"ES256"}', by = key.privateKey): string {
  const text = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  const signature = sign('sha256', Buffer.from(text), { key: by, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  const [protectedHeader, body] = text.split('.');
  return JSON.stringify({ payload: body, protected: protectedHeader, header: { kid: 'k1' }, signature });
}

test('what was signed is read back', async (t) => {
  const jws = await signBundle(buildBundle(input), key);
  t.is(Buffer.from(jws.protected, 'base64url').toString(), '{"kid":"k1","alg":"ES256"}');
  const { digest, ...read } = await verifyBundle(JSON.stringify(jws), { domain, keys, now });
  t.deepEqual(read, { ...input, domain, kid: 'k1' });
  t.regex(digest, /^policies-1:[\w-]{43}$/);
});

test('other readers of the standard verify it too', async (t) => {
  const { header: _, ...jws } = await signBundle(buildBundle(input), key);
  const verified = await flattenedVerify(jws, key.jwk, { algorithms: ['ES256'] });
  t.deepEqual(JSON.parse(new TextDecoder().decode(verified.payload)), buildBundle(input));
});

test('the DER form is made when asked for and not accepted here', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const jws = await signBundle(buildBundle(input), key, 'der');
    const signature = Buffer.from(jws.signature, 'base64url');
    t.is(signature[1], signature.length - 2);
    t.is(await codeOf(JSON.stringify(jws)), 'bundle-signature');
  }
});

test('a key with the other name of its curve, and short coordinates, works', async (t) => {
  const other = keyPair('k1', undefined, 'prime256v1');
  const odd = {
    ...other.jwk,
    x: Buffer.concat([Buffer.of(0), Buffer.from(other.jwk.x ?? '', 'base64url')]).toString('base64url'),
  };
  const jws = JSON.stringify(await signBundle(buildBundle(input), other));
  t.is(await codeOf(jws, { keys: staticKeys({ keys: [odd] }) }), 'good');
});

const flip = (text: string): string => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
const tampered: [note: string, jws: Record<string, unknown>, code: string][] = [
  ['a flipped bit in the payload', { ...good, payload: flip(good.payload) }, 'bundle-signature'],
  ['the signature of another bundle', { ...good, signature: otherGood.signature }, 'bundle-signature'],
  ['no signature', { ...good, signature: undefined }, 'bundle-malformed'],
  ['an empty signature', { ...good, signature: '' }, 'bundle-signature'],
  ['a signature of zeros', { ...good, signature: 'A'.repeat(86) }, 'bundle-signature'],
  ['a list of signatures', { ...good, signatures: [] }, 'bundle-malformed'],
  ['another kid outside', { ...good, header: { kid: 'k2' } }, 'bundle-malformed'],
  ['padding', { ...good, payload: `${good.payload}=` }, 'bundle-signature'],
  ['nothing outside but what is signed', { ...good, header: { kid: 'k1', version: 99 }, expires: 'never' }, 'good'],
];
for (const [note, jws, code] of tampered) {
  test(`tampered: ${note}`, async (t) => t.is(await codeOf(JSON.stringify(jws)), code));
}

const payload = buildBundle(input);
const headers: [note: string, header: string, code: string][] = [
  ['the usual one', '{"kid":"k1","alg":"ES256"}', 'good'],
  ['an unknown key', '{"kid":"k9","alg":"ES256"}', 'bundle-malformed'],
  ['no kid', '{"alg":"ES256"}', 'bundle-malformed'],
  ['alg none', '{"kid":"k1","alg":"none"}', 'bundle-signature'],
  ['HS256', '{"kid":"k1","alg":"HS256"}', 'bundle-signature'],
  ['RS256 with an EC key', '{"kid":"k1","alg":"RS256"}', 'bundle-signature'],
  ['a kid twice', '{"kid":"k2","kid":"k1","alg":"ES256"}', 'bundle-malformed'],
  ['crit', '{"kid":"k1","alg":"ES256","crit":["b64"],"b64":false}', 'bundle-malformed'],
  ['its own key', '{"kid":"k1","alg":"ES256","jwk":{}}', 'bundle-malformed'],
];
for (const [note, header, code] of headers) {
  test(`protected header: ${note}`, async (t) => t.is(await codeOf(signed(JSON.stringify(payload), header)), code));
}

test('keys: unknown ones, those for tokens and failing sources are told apart', async (t) => {
  const byToken = await signBundle(payload, tokenKey);
  t.is(await codeOf(JSON.stringify(byToken)), 'bundle-key-unknown');
  t.is(await codeOf(JSON.stringify(good), { keys: staticKeys({ keys: [] }) }), 'bundle-key-unknown');
  const failing = { find: () => Promise.reject(new Error('out of order')) };
  t.is(await codeOf(JSON.stringify(good), { keys: failing }), 'keys-unavailable');
});

const { policyData } = payload;
const [policy] = policyData.policies;
const assertion = policy?.assertions[0];
const withAssertion = (change: object): object => ({
  ...payload,
  policyData: { ...policyData, policies: [{ ...policy, assertions: [{ ...assertion, ...change }] }] },
});
const payloads: [note: string, payload: object, code: string][] = [
  ['unknown members are ignored', { ...payload, later: 1, zmsKeyId: '' }, 'good'],
  ['another domain', { ...payload, policyData: { ...policyData, domain: 'media' } }, 'bundle-domain'],
  ['the domain in capitals', { ...payload, policyData: { ...policyData, domain: 'Catalog' } }, 'bundle-domain'],
  ['no policies', { ...payload, policyData: { domain: 'catalog' } }, 'bundle-malformed'],
  ['no expiry', { ...payload, expires: undefined }, 'bundle-malformed'],
  ['an expiry without a zone', { ...payload, expires: '2030-01-01T00:00:00' }, 'bundle-malformed'],
  ['an expiry before the issue', { ...payload, issued: payload.expires }, 'bundle-malformed'],
  ['a fraction for a version', { ...payload, version: 7.5 }, 'bundle-malformed'],
  ['a negative version', { ...payload, version: -1 }, 'bundle-malformed'],
  ['a version beyond exact numbers', { ...payload, version: 2 ** 53 }, 'bundle-malformed'],
  ['no epoch', { ...payload, epoch: undefined }, 'bundle-malformed'],
  ['no effect', withAssertion({ effect: undefined }), 'bundle-malformed'],
  ['an effect in lower case', withAssertion({ effect: 'deny' }), 'bundle-malformed'],
  ['an effect that is null', withAssertion({ effect: null }), 'bundle-malformed'],
  ['a role that is a list', withAssertion({ role: ['a'] }), 'bundle-malformed'],
  ['no action', withAssertion({ action: undefined }), 'bundle-malformed'],
  ['conditions that are a text', withAssertion({ conditions: 'x' }), 'bundle-malformed'],
  ['a list in place of the payload', [payload], 'bundle-malformed'],
];
for (const [note, body, code] of payloads) {
  test(`payload: ${note}`, async (t) => t.is(await codeOf(signed(JSON.stringify(body))), code));
}

test('payload: two effects in one assertion are refused, however they are written', async (t) => {
  const text = JSON.stringify(payload);
  for (const second of ['"effect":"DENY"', '"\\u0065ffect":"DENY"']) {
    t.is(await codeOf(signed(text.replace('"effect":"ALLOW"', `"effect":"ALLOW",${second}`))), 'bundle-malformed');
  }
  t.is(await codeOf(signed(`\ufeff${text}`)), 'bundle-malformed');
  t.is(await codeOf(signed(Buffer.from([0xff, 0xfe]))), 'bundle-malformed');
});

test('payload: text that looks like members stays text', async (t) => {
  const resource = 'catalog:x","effect":"DENY';
  const bytes = signed(JSON.stringify(withAssertion({ resource })));
  const bundle = await verifyBundle(bytes, { domain, keys, now });
  t.deepEqual(bundle.policies[0]?.assertions, [{ ...assertion, resource }]);
});

const clocks: [note: string, options: Partial<VerifyBundleOptions>, code: string][] = [
  ['one millisecond before the expiry', { now: now + 999 }, 'good'],
  ['at the expiry', { now: now + 1000 }, 'bundle-expired'],
  ['at the expiry, for who looks at it himself', { now: now + 1000, acceptExpired: true }, 'good'],
  ['a clock that is five minutes late', { now: now - 301_000 }, 'good'],
  ['a clock that is a year late', { now: now - 31_536_000_000 }, 'bundle-not-yet-valid'],
  ['the same version again', { floor: { epoch: 1, version: 7 } }, 'good'],
  ['an older version', { floor: { epoch: 1, version: 8 } }, 'bundle-rollback'],
  ['a lower version of a higher epoch', { floor: { epoch: 0, version: 900 } }, 'good'],
  ['a lower epoch', { floor: { epoch: 2, version: 0 } }, 'bundle-rollback'],
  ['the same time of issue', { floor: { epoch: 1, version: 7, issued: now - 1000 } }, 'good'],
  [
    'an earlier issue than the last one',
    { floor: { epoch: 1, version: 7, issued: now - 999 } },
    'bundle-issued-earlier',
  ],
  [
    'an earlier issue of a newer version',
    { floor: { epoch: 1, version: 6, issued: now - 999 } },
    'bundle-issued-earlier',
  ],
  ['an earlier issue under a new epoch', { floor: { epoch: 0, version: 9, issued: now - 999 } }, 'good'],
  ['a digest of another form', { floor: { epoch: 1, version: 7, digest: 'policies-2:x' } }, 'good'],
  ['another digest', { floor: { epoch: 1, version: 7, digest: 'policies-1:x' } }, 'bundle-equivocation'],
  ['another digest of an older version', { floor: { epoch: 1, version: 6, digest: 'policies-1:x' } }, 'good'],
  ['another digest of an older epoch', { floor: { epoch: 0, version: 7, digest: 'policies-1:x' } }, 'good'],
];
for (const [note, options, code] of clocks) {
  test(`time and version: ${note}`, async (t) => t.is(await codeOf(JSON.stringify(good), options), code));
}

test('bytes: every truncation is refused, and none is an error of ours', async (t) => {
  const bytes = new TextEncoder().encode(JSON.stringify(good));
  for (let length = 0; length < bytes.length; length += 7) {
    t.is(await codeOf(bytes.subarray(0, length)), 'bundle-malformed');
  }
});

test('a large bundle lets others run', async (t) => {
  const assertions = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    effect: 'ALLOW' as const,
    role: `catalog:role.r${id % 100}`,
    resource: `catalog:item.${id}`,
    action: 'read',
  }));
  const policies = [{ name: 'catalog:policy.p', modified: '', assertions }];
  const bytes = JSON.stringify(await signBundle(buildBundle({ ...input, policies }), key));
  let pauses = 0;
  const pause = async (): Promise<void> => {
    pauses += 1;
  };
  const bundle = await verifyBundle(bytes, { domain, keys, now, pause });
  t.is(bundle.policies[0]?.assertions.length, 20_000);
  t.true(pauses > 100);
});

test('a signing key that is none is refused', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await t.throwsAsync(signBundle(payload, { kid: 'k', privateKey }), {
    instanceOf: PolicyEngineError,
    code: 'invalid-options',
  });
});

const keySets: [note: string, list: unknown][] = [
  ['no list', {}],
  ['a private key', { keys: [{ ...key.jwk, d: 'AA' }] }],
  ['a secret', { keys: [{ kty: 'oct', kid: 's', k: 'AA' }] }],
];
for (const [note, list] of keySets) {
  test(`key set: ${note}`, (t) => {
    const error = t.throws(() => Reflect.apply(staticKeys, undefined, [list]), { instanceOf: PolicyEngineError });
    t.is(error?.code, 'keys-malformed');
  });
}

test('key set: keys of other kinds are left out, a point off the curve is nobody’s key', async (t) => {
  const list = {
    keys: [
      { kty: 'OKP', kid: 'ed', crv: 'Ed25519', x: 'AA' },
      { ...key.jwk, kid: 'enc', use: 'enc' },
      { ...key.jwk, kid: 'off', y: key.jwk.x },
      { ...key.jwk, kid: undefined },
    ],
  };
  const source = Reflect.apply(staticKeys, undefined, [list]);
  for (const kid of ['ed', 'enc', 'off', 'none']) t.is(await source.find(kid, 'bundle'), undefined);
});

test('a signed choice of policy versions is never taken for what is in force', async (t) => {
  const preview = await signBundle({ ...buildBundle(input), policyVersions: { readers: '1' } }, key);
  t.is(await codeOf(JSON.stringify(preview)), 'bundle-malformed');
});

test('bytes: a bundle of exactly 32 MiB is read, one byte more is not looked at', async (t) => {
  const bundle = JSON.stringify(good);
  const exact = bundle.padEnd(maxBundleBytes, ' ');
  for (const text of [exact, new TextEncoder().encode(exact)]) t.is(await codeOf(text), 'good');
  const more = bundle.padEnd(maxBundleBytes + 1, ' ');
  for (const text of [more, new TextEncoder().encode(more)]) {
    const error = await t.throwsAsync(verifyBundle(text, { domain, keys, now }), { instanceOf: PolicyEngineError });
    t.is(error.message, 'bundle is malformed: it is larger than 32 MiB');
  }
});

async function codeOfInput(change: Partial<BundleInput>, options: Partial<VerifyBundleOptions> = {}): Promise<string> {
  return codeOf(JSON.stringify(await signBundle(buildBundle({ ...input, ...change }), key)), options);
}

test('a life of 90 days is the longest', async (t) => {
  t.is(maxBundleLifeMs, 90 * 86_400_000);
  const longest = { issued: now, expires: now + maxBundleLifeMs };
  t.is(await codeOfInput(longest), 'good');
  t.is(await codeOfInput({ ...longest, expires: longest.expires + 1 }), 'bundle-lifetime');
  t.is(await codeOfInput({ ...longest, expires: longest.expires + 1 }, { acceptExpired: true }), 'bundle-lifetime');
});

const floors: [note: string, floor: VerifyBundleOptions['floor'], base: { epoch: number; version: number }][] = [
  ['at the first contact', undefined, { epoch: 0, version: 0 }],
  ['within an epoch', { epoch: 3, version: 7 }, { epoch: 3, version: 7 }],
  ['after a version that is high already', { epoch: 0, version: 2 ** 33 }, { epoch: 0, version: 2 ** 33 }],
];
for (const [note, floor, { epoch, version }] of floors) {
  test(`version and epoch jump by 2^32 at most: ${note}`, async (t) => {
    const options = floor === undefined ? {} : { floor };
    t.is(maxVersionJump, 4_294_967_296);
    t.is(await codeOfInput({ epoch, version: version + 2 ** 32 }, options), 'good');
    t.is(await codeOfInput({ epoch, version: version + 2 ** 32 + 1 }, options), 'bundle-version-jump');
    t.is(await codeOfInput({ epoch: epoch + 1, version: version + 2 ** 32 + 1 }, options), 'bundle-version-jump');
    t.is(await codeOfInput({ epoch: epoch + 1, version: 0 }, options), 'good');
    t.is(await codeOfInput({ epoch, version: Number.MAX_SAFE_INTEGER }, options), 'bundle-version-jump');
    t.is(await codeOfInput({ epoch: epoch + 2 ** 32, version }, options), 'good');
    t.is(await codeOfInput({ epoch: epoch + 2 ** 32 + 1, version }, options), 'bundle-version-jump');
  });
}

/** The digest of a payload as it is written, signed by any key. */
async function digestOf(body: object, by = key): Promise<string> {
  const jws = signed(JSON.stringify(body), `{"kid":"${by.kid}","alg":"ES256"}`, by.privateKey);
  const bytes = JSON.stringify({ ...JSON.parse(jws), header: { kid: by.kid } });
  const options = { domain, keys: staticKeys({ keys: [by.jwk] }), now, acceptExpired: true };
  return (await verifyBundle(bytes, options)).digest;
}

const condition = { conditionsMap: { instances: { operator: 'EQUALS', value: 'a' } } };
const rich = {
  ...payload,
  policyData: {
    domain: 'catalog',
    policies: [
      {
        name: 'catalog:policy.b',
        modified: '2026-01-01T00:00:00.000Z',
        assertions: [
          { role: 'catalog:role.r', resource: 'catalog:x', action: 'read', effect: 'ALLOW' },
          {
            ...{ role: 'catalog:role.r', resource: 'catalog:x', action: 'read', effect: 'DENY' },
            conditions: { conditionsList: [condition, { conditionsMap: {} }] },
          },
        ],
      },
      { name: 'catalog:policy.a', modified: '2026-01-01T00:00:00.000Z', assertions: [] },
    ],
  },
};
type Rich = typeof rich;
const changed = (change: (copy: Rich) => void): Rich => {
  const copy = structuredClone(rich);
  change(copy);
  return copy;
};
const [first, second] = rich.policyData.policies;
const [allow, deny] = first?.assertions ?? [];

test('the digest is the one of its definition', async (t) => {
  const text = [
    '["policies-1","catalog"]',
    '["catalog:policy.a","0",true,false]',
    '["catalog:policy.b","0",true,false]',
    '["ALLOW","catalog:role.r","read","catalog:x",false,[]]',
    '["DENY","catalog:role.r","read","catalog:x",false,[[["instances","EQUALS","a"]],[]]]',
  ];
  const hash = createHash('sha256')
    .update(text.map((line) => `${line}\n`).join(''))
    .digest('base64url');
  t.is(await digestOf(rich), `policies-1:${hash}`);
});

const withoutWeight: [note: string, body: object, by?: ReturnType<typeof keyPair>][] = [
  ['a renewal', { ...rich, issued: rich.expires, expires: '2026-02-01T00:00:00.000Z' }],
  ['another time of change', { ...rich, modified: rich.expires }],
  ['another epoch and version', { ...rich, epoch: 5, version: 9 }],
  ['a new signing key', rich, keyPair('k7')],
  [
    'times of change of policies',
    changed(({ policyData }) => {
      for (const policy of policyData.policies) policy.modified = '';
    }),
  ],
  [
    'numbers of rows',
    changed(({ policyData }) => Object.assign(policyData.policies[0]?.assertions[0] ?? {}, { id: 9 })),
  ],
  [
    'members of a newer program at every level',
    changed((copy) => {
      const [policy] = copy.policyData.policies;
      const rule = policy?.assertions[1];
      const conditionsList = [{ ...condition, id: 3, later: 1 }, { conditionsMap: {} }];
      Object.assign(copy, { later: { a: 1 } });
      Object.assign(copy.policyData, { owner: 'x' });
      Object.assign(policy ?? {}, { description: 'x' });
      Object.assign(rule ?? {}, { tags: [], conditions: { conditionsList, later: 1 } });
    }),
  ],
  [
    'defaults that are written',
    changed(({ policyData }) => {
      for (const policy of policyData.policies)
        Object.assign(policy, { version: '0', active: true, caseSensitive: false });
      Object.assign(policyData.policies[0]?.assertions[0] ?? {}, {
        caseSensitive: false,
        conditions: { conditionsList: [] },
      });
    }),
  ],
  [
    'another order of policies, rules and conditions',
    {
      ...rich,
      policyData: {
        domain: 'catalog',
        policies: [
          second,
          {
            ...first,
            assertions: [{ ...deny, conditions: { conditionsList: [{ conditionsMap: {} }, condition] } }, allow],
          },
        ],
      },
    },
  ],
];
for (const [note, body, by] of withoutWeight) {
  test(`the same policies have the same digest: ${note}`, async (t) =>
    t.is(await digestOf(body, by), await digestOf(rich)));
}

const otherPolicies: [note: string, change: (copy: Rich) => void][] = [
  ['no rule', ({ policyData }) => policyData.policies[0]?.assertions.pop()],
  ['a rule twice', ({ policyData }) => policyData.policies[0]?.assertions.push({ ...(allow ?? never()) })],
  [
    'a rule in another policy',
    ({ policyData: { policies } }) => policies[1]?.assertions.push({ ...(policies[0]?.assertions.pop() ?? never()) }),
  ],
  ...(['role', 'resource', 'action'] as const).map((member): [string, (copy: Rich) => void] => [
    `another ${member}`,
    ({ policyData }) => Object.assign(policyData.policies[0]?.assertions[0] ?? {}, { [member]: 'catalog:role.z' }),
  ]),
  [
    'another effect',
    ({ policyData }) => Object.assign(policyData.policies[0]?.assertions[0] ?? {}, { effect: 'DENY' }),
  ],
  [
    'case that counts',
    ({ policyData }) => Object.assign(policyData.policies[0]?.assertions[0] ?? {}, { caseSensitive: true }),
  ],
  [
    'case that counts in a policy',
    ({ policyData }) => Object.assign(policyData.policies[0] ?? {}, { caseSensitive: true }),
  ],
  ['a policy that is not active', ({ policyData }) => Object.assign(policyData.policies[0] ?? {}, { active: false })],
  [
    'another name of a policy',
    ({ policyData }) => Object.assign(policyData.policies[1] ?? {}, { name: 'catalog:policy.c' }),
  ],
  [
    'conditions',
    ({ policyData }) =>
      Object.assign(policyData.policies[0]?.assertions[0] ?? {}, { conditions: { conditionsList: [condition] } }),
  ],
  [
    'no conditions',
    ({ policyData }) => Object.assign(policyData.policies[0]?.assertions[1] ?? {}, { conditions: undefined }),
  ],
];
for (const [note, change] of otherPolicies) {
  test(`other policies have another digest: ${note}`, async (t) =>
    t.not(await digestOf(changed(change)), await digestOf(rich)));
}

test('the digest of a large bundle does not depend on the order either', async (t) => {
  const rules = Array.from({ length: 5000 }, (_, id) => ({
    ...{ role: `catalog:role.r${(id * 7919) % 5000}`, resource: 'catalog:x', action: 'read', effect: 'ALLOW' },
  }));
  const of = (assertions: object[]) => ({
    ...payload,
    policyData: { domain: 'catalog', policies: [{ name: 'catalog:policy.p', assertions }] },
  });
  const sorted = rules.map((rule) => JSON.stringify(['ALLOW', rule.role, 'read', 'catalog:x', false, []])).sort();
  const text = ['["policies-1","catalog"]', '["catalog:policy.p","0",true,false]', ...sorted, ''].join('\n');
  const digest = `policies-1:${createHash('sha256').update(text).digest('base64url')}`;
  t.is(await digestOf(of(rules)), digest);
  t.is(await digestOf(of(rules.toReversed())), digest);
});

function never(): never {
  throw new Error('the bundle has no such rule');
}

test('a long payload is taken as it stands in the text, and in no other alphabet', async (t) => {
  const assertions = Array.from({ length: 1000 }, (_, id) => ({ ...assertion, id, resource: `catalog:movie.${id}` }));
  const long = { ...payload, policyData: { ...policyData, policies: [{ ...policy, assertions }] } };
  const bundle = await signBundle(long as typeof payload, key);
  t.is(await codeOf(JSON.stringify(bundle)), 'good');
  const withPayload = (text: string) => JSON.stringify({ ...bundle, payload: 'here' }).replace('here', text);
  t.is(await codeOf(withPayload(`\\u0065${bundle.payload.slice(1)}`)), 'good', 'an escape of JSON');
  const middle = bundle.payload.length / 2;
  const withMiddle = (put: string) => `${bundle.payload.slice(0, middle)}${put}${bundle.payload.slice(middle)}`;
  for (const put of ['\\', '"', '\\x']) t.is(await codeOf(withPayload(withMiddle(put))), 'bundle-malformed', put);
  for (const put of ['\n', '\0', '=', '+', 'é']) {
    const text = withMiddle(put);
    const bytes = Buffer.from(`${bundle.protected}.${text}`);
    const other = sign('sha256', bytes, { key: key.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
    const resigned = withPayload(text).replace(bundle.signature, other);
    t.is(await codeOf(resigned), 'bundle-malformed', JSON.stringify(put));
    t.is(await codeOf(withPayload(text)), 'bundle-signature', JSON.stringify(put));
  }
});
