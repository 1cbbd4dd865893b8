import { generateKeyPairSync, sign } from 'node:crypto';
import test from 'ava';
import { internals } from '../../limits/row.ts';

const { readEcdsaSignature } = await internals<{ readEcdsaSignature(der: Uint8Array): Uint8Array | undefined }>(
  'policy-engine/src/bundle/ecdsa-signature.ts',
);

const integer = (...octets: number[]) => [2, octets.length, ...octets];
const sequence = (...parts: number[][]) => [0x30, parts.flat().length, ...parts.flat()];
const bytes = (count: number, first: number) => [first, ...Array.from({ length: count - 1 }, () => 0x11)];
/** r and s side by side, from the octets of each. */
const both = (r: number[], s: number[]) =>
  Buffer.concat(
    [r, s].map((octets) => Buffer.from([...Array.from({ length: 32 - octets.length }, () => 0), ...octets])),
  );

const good: [note: string, der: number[], r: number[], s: number[]][] = [
  ['small numbers', sequence(integer(1), integer(0x7f)), [1], [0x7f]],
  ['numbers that would be negative', sequence(integer(0, 0x80), integer(0, 0xff, 1)), [0x80], [0xff, 1]],
  [
    'numbers of 32 octets',
    sequence(integer(...bytes(32, 0x7f)), integer(0, ...bytes(32, 0x80))),
    bytes(32, 0x7f),
    bytes(32, 0x80),
  ],
  [
    'numbers of 33 bytes',
    sequence(integer(0, ...bytes(32, 0xff)), integer(0, ...bytes(32, 0xfe))),
    bytes(32, 0xff),
    bytes(32, 0xfe),
  ],
];
for (const [note, der, r, s] of good) {
  test(`reads ${note}`, (t) => t.deepEqual(Buffer.from(readEcdsaSignature(Uint8Array.from(der)) ?? []), both(r, s)));
}

const one = integer(1);
const bad: [note: string, der: number[]][] = [
  ['nothing', []],
  ['an empty sequence', [0x30, 0]],
  ['one number', sequence(one)],
  ['three numbers', sequence(one, one, one)],
  ['something behind the numbers', sequence(one, one, [0])],
  ['something behind the sequence', [...sequence(one, one), 0]],
  ['a set', [0x31, ...sequence(one, one).slice(1)]],
  ['a length that is too short', [0x30, 5, ...one, ...one]],
  ['a length that is too long', [0x30, 7, ...one, ...one]],
  ['a length of two bytes', [0x30, 0x81, 6, ...one, ...one]],
  ['a number without octets', sequence(integer(), one)],
  ['a second number without octets', sequence(one, integer())],
  ['nought', sequence(integer(0), one)],
  ['a negative number', sequence(one, integer(0x80))],
  ['a zero too many', sequence(integer(0, 1), one)],
  ['two zeros', sequence(integer(0, 0, 0x80), one)],
  ['a text in the place of r', sequence([4, 1, 1], one)],
  ['a text in the place of s', sequence(one, [4, 1, 1])],
  ['a number that ends behind the text', sequence(one, [2, 2, 1])],
  ['r of 33 octets', sequence(integer(...bytes(33, 1)), one)],
  ['s of 33 octets', sequence(one, integer(...bytes(33, 1)))],
  ['a long text', sequence(integer(0, ...bytes(33, 0x80)), integer(0, ...bytes(33, 0x80)))],
];
for (const [note, der] of bad) {
  test(`refuses ${note}`, (t) => t.is(readEcdsaSignature(Uint8Array.from(der)), undefined));
}

test('reads what OpenSSL writes, and nothing that is cut off', (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (let round = 0; round < 50; round += 1) {
    const der = sign('sha256', Buffer.of(round), privateKey);
    t.is(readEcdsaSignature(der)?.length, 64);
    for (let length = 0; length < der.length; length += 1) t.is(readEcdsaSignature(der.subarray(0, length)), undefined);
  }
});
