import { generateKeyPairSync } from 'node:crypto';
import { staticKeys } from '@signet/policy-engine';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Each rule about a key of a set by itself: what is refused, what is left out, and what is made of the rest. */

type Key = Readonly<Record<string, unknown>>;
const { decodeJwkList, sharesKey } = await internals<{
  decodeJwkList(
    value: unknown,
    rules?: { minRsaBits: number | undefined },
  ): { keys: readonly Key[]; leftOut: string[] };
  sharesKey(before: { keys: unknown[] }, after: { keys: unknown[] }): boolean;
}>('policy-engine/src/keys/key-source.ts');

/** Odd number of exactly `bits` bits. */
function modulus(bits: number): string {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 255);
  bytes[0] = 255 >> (bytes.length * 8 - bits);
  return bytes.toString('base64url');
}

const made = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const ec: Key = { kid: 'a', kty: 'EC', crv: 'P-256', x: made.x, y: made.y };
const rsa: Key = { kid: 'r', kty: 'RSA', n: modulus(2048), e: 'AQAB' };
const zeros = (length: number) => Buffer.alloc(length).toString('base64url');
const ones = (length: number) => Buffer.alloc(length, 1).toString('base64url');

const lists: [note: string, value: unknown, problem: string][] = [
  ['nothing', undefined, '`keys` must be an array'],
  ['null', null, '`keys` must be an array'],
  ['a string', 'keys', '`keys` must be an array'],
  ['a list', [ec], '`keys` must be an array'],
  ['no keys', {}, '`keys` must be an array'],
  ['keys that are an object', { keys: {} }, '`keys` must be an array'],
  ['more keys than anybody has', { keys: Array(1001).fill(0) }, 'it has more than 1000 keys'],
  ['a private key', { keys: [{ ...ec, d: 'AA' }] }, 'a key is not public'],
  ['a shared key', { keys: [{ kid: 'a', kty: 'oct', k: 'AA' }] }, 'a key is not public'],
];
for (const [note, value, problem] of lists) {
  test(`a key set is refused: ${note}`, (t) => {
    const expected = { code: 'keys-malformed', message: `key set is malformed: ${problem}` };
    t.throws(() => decodeJwkList(value), expected as never);
  });
}

const read: [note: string, key: Key, expected: Key | undefined][] = [
  ['a curve by its name', ec, { alg: 'ES256', crv: 'P-256', x: made.x, y: made.y }],
  ['a curve by its other name', { ...ec, crv: 'prime256v1' }, { alg: 'ES256', crv: 'P-256' }],
  ['another curve', { ...ec, crv: 'P-384', x: ones(48), y: ones(48) }, { alg: 'ES384', x: ones(48) }],
  ['an unknown curve', { ...ec, crv: 'secp256k1' }, undefined],
  ['a curve that is a number', { ...ec, crv: 7 }, undefined],
  [
    'a coordinate that is short',
    { ...ec, x: 'AQ' },
    { x: Buffer.concat([Buffer.alloc(31), Buffer.of(1)]).toString('base64url') },
  ],
  [
    'a coordinate with a zero in front',
    { ...ec, y: Buffer.concat([Buffer.alloc(1), Buffer.alloc(32, 1)]).toString('base64url') },
    { y: ones(32) },
  ],
  ['a coordinate of zeros', { ...ec, x: zeros(40) }, { x: zeros(32) }],
  ['no first coordinate', { ...ec, x: undefined }, undefined],
  ['no second coordinate', { ...ec, y: undefined }, undefined],
  ['a first coordinate that is not base64url', { ...ec, x: 'a+b/' }, undefined],
  ['a second coordinate that is a number', { ...ec, y: 7 }, undefined],
  ['a coordinate of a byte too many', { ...ec, x: ones(33) }, undefined],
  ['a key to sign with', { ...ec, use: 'sig' }, { use: 'sig' }],
  ['a key to encrypt with', { ...ec, use: 'enc' }, undefined],
  ['a key for tokens', { ...ec, purpose: 'token' }, { purpose: 'token' }],
  ['a key for bundles', { ...ec, purpose: 'bundle' }, { purpose: 'bundle' }],
  ['a key for something else', { ...ec, purpose: 'mail' }, undefined],
  ['an RSA key', rsa, { alg: 'RS256', n: rsa['n'], e: 'AQAB' }],
  ['an RSA key for another algorithm', { ...rsa, alg: 'RS512' }, { alg: 'RS512' }],
  ['an RSA key for PS256', { ...rsa, alg: 'PS256' }, undefined],
  ['an RSA key whose algorithm is a number', { ...rsa, alg: 7 }, undefined],
  ['an RSA key without its modulus', { ...rsa, n: undefined }, undefined],
  ['an RSA key without its exponent', { ...rsa, e: undefined }, undefined],
  ['an RSA key without bytes in its modulus', { ...rsa, n: '' }, undefined],
  ['an RSA key of 2047 bits', { ...rsa, n: modulus(2047) }, undefined],
  ['an RSA key of 2047 bits with zeros in front', { ...rsa, n: `AAAA${modulus(2047)}` }, undefined],
  ['an RSA key with the exponent 65537', { ...rsa, e: 'AQAB' }, { e: 'AQAB' }],
  ['an RSA key with a larger exponent', { ...rsa, e: 'AQAD' }, { e: 'AQAD' }],
  ['an RSA key with the exponent 65535', { ...rsa, e: Buffer.of(255, 255).toString('base64url') }, undefined],
  ['an RSA key with the exponent 3', { ...rsa, e: 'Aw' }, undefined],
  ['an RSA key with the exponent 1', { ...rsa, e: 'AQ' }, undefined],
  ['an RSA key with an even exponent', { ...rsa, e: Buffer.of(1, 0, 2).toString('base64url') }, undefined],
  ['another type', { ...ec, kty: 'OKP' }, undefined],
  ['a key for the algorithm of its curve', { ...ec, alg: 'ES256' }, { alg: 'ES256' }],
  ['a key for the algorithm of another curve', { ...ec, alg: 'ES384' }, undefined],
  ['a key for agreement', { ...ec, alg: 'ECDH-ES' }, undefined],
  ['a key to verify with', { ...ec, key_ops: ['verify'] }, { kid: 'a' }],
  ['a key to verify and to wrap with', { ...ec, key_ops: ['wrapKey', 'verify'] }, { kid: 'a' }],
  ['a key to encrypt with, by its operations', { ...ec, key_ops: ['encrypt'] }, undefined],
  ['a key for nothing', { ...ec, key_ops: [] }, undefined],
  ['operations that are a string', { ...ec, key_ops: 'verify' }, undefined],
  ['a key without a name', { ...ec, kid: undefined }, undefined],
  ['a key with an empty name', { ...ec, kid: '' }, undefined],
  ['a key whose name is a number', { ...ec, kid: 7 }, undefined],
];
for (const [note, key, expected] of read) {
  test(`a key of a set: ${note}`, (t) => {
    const [found, ...others] = decodeJwkList({ keys: [key] }).keys;
    t.is(others.length, 0);
    if (expected === undefined) t.is(found, undefined);
    else t.like(found, { kid: key['kid'], use: 'sig', ...expected });
    if (key['purpose'] === undefined) t.false(found !== undefined && 'purpose' in found);
  });
}

test('a key serves its purpose, one without a purpose serves both, and its name must be known', async (t) => {
  const keys = [
    { ...ec, purpose: 'token' },
    { ...ec, kid: 'b', purpose: 'bundle' },
    { ...ec, kid: 'both' },
  ];
  const source = staticKeys({ keys } as never);
  const found = async (kid: string) => [
    (await source.find(kid, 'token')) !== undefined,
    (await source.find(kid, 'bundle')) !== undefined,
  ];
  t.deepEqual(await found('a'), [true, false]);
  t.deepEqual(await found('b'), [false, true]);
  t.deepEqual(await found('both'), [true, true]);
  t.deepEqual(await found('c'), [false, false]);
});

test('odd keys are left out and reported, the others count', async (t) => {
  const odd = [null, 'a', [], { ...ec, kid: undefined }, { ...ec, x: ones(32) }, { ...ec, kid: 'o', kty: 'OKP' }];
  const { keys, leftOut } = decodeJwkList({ keys: [ec, ...odd, rsa, { ...ec, kid: 'a\nb', crv: 'P-1' }] });
  t.deepEqual(
    keys.map(({ kid, x }) => [kid, x]),
    [
      ['a', ec['x']],
      ['r', undefined],
    ],
  );
  t.deepEqual(leftOut, [
    'key 2 of the set is not an object',
    'key 3 of the set is not an object',
    'key 4 of the set is not an object',
    'key 5 of the set has no `kid`',
    'key `a` has the name of one before it',
    'key `o` is of an unknown type (`kty`)',
    'key 9 of the set is on an unknown curve (`crv`)',
  ]);
});

test('`minRsaBits` leaves shorter RSA keys out, and no others', (t) => {
  const count = (minRsaBits: number | undefined, bits: number) =>
    decodeJwkList({ keys: [ec, { ...rsa, n: modulus(bits) }] }, { minRsaBits }).keys.length;
  t.deepEqual([count(3072, 3072), count(3072, 3071), count(undefined, 2048), count(undefined, 2047)], [2, 1, 2, 1]);
});

test('a point off the curve is not a key', async (t) => {
  t.is(await staticKeys({ keys: [{ ...ec, x: zeros(32) }] } as never).find('a', 'token'), undefined);
});

test('key sets share a key by its name and its material', (t) => {
  const share = (before: Key[], after: Key[]) => sharesKey({ keys: before }, { keys: after });
  t.true(share([ec, rsa], [{ ...ec, kid: 'b' }, rsa]));
  t.true(share([ec], [{ ...ec, crv: 'prime256v1', purpose: 'token' }]));
  t.false(share([ec], [{ ...ec, kid: 'b' }]));
  t.false(share([ec], [{ ...ec, x: ones(32) }]));
  t.false(share([ec], []));
});
