import { bitString, DerError, derNull, octetString, oid, sequence, unsigned } from '@signet/policy-engine/internal/der';
import { InvalidRequestError } from '@signet/server/errors';
import { oids } from '@signet/server/x509/oids';
import {
  type KeyKind,
  keyBits,
  keyIdentifierOf,
  loadSubjectKey,
  parseSubjectKey,
} from '@signet/server/x509/subject-key';
import test from 'ava';
import { ecPair } from '#support/requests';

/** Odd modulus of `bits` bits. Node accepts any number for one. */
function modulus(bits: number): Buffer {
  const octets = Buffer.alloc(Math.ceil(bits / 8), 0xff);
  octets[0] = 0xff >> (octets.length * 8 - bits);
  return octets;
}

const e65537 = Buffer.of(1, 0, 1);
const rsaAlgorithm = sequence(oids.rsaEncryption.der, derNull);
const rsa = (n: Buffer, e: Buffer = e65537, algorithm = rsaAlgorithm) =>
  sequence(algorithm, bitString(sequence(unsigned(n), unsigned(e))));
const ed25519 = (length: number) => sequence(sequence(oids.ed25519.der), bitString(Buffer.alloc(length, 9)));
const point = keyBits(ecPair().publicKey.export({ type: 'spki', format: 'der' }));
const ec = (bits: Buffer, curve = oids.prime256v1.der) =>
  sequence(sequence(oids.ecPublicKey.der, curve), bitString(bits));

const taken: readonly (readonly [name: string, spki: Buffer, kind: KeyKind])[] = [
  ['RSA of 2048 bits', rsa(modulus(2048)), 'rsa'],
  ['RSA of 8192 bits', rsa(modulus(8192)), 'rsa'],
  ['RSA with e = 3', rsa(modulus(2048), Buffer.of(3)), 'rsa'],
  ['RSA with the greatest exponent', rsa(modulus(2048), Buffer.alloc(4, 0xff)), 'rsa'],
  ['RSA without parameters', rsa(modulus(2048), e65537, sequence(oids.rsaEncryption.der)), 'rsa'],
  ['P-256', ec(point), 'P-256'],
  ['Ed25519', ed25519(32), 'ed25519'],
];
for (const [name, spki, kind] of taken) {
  test(`taken: ${name}`, (t) => {
    const key = parseSubjectKey(spki);
    t.is(key.kind, kind);
    t.deepEqual(key.spki, spki);
    t.deepEqual(key.keyIdentifier, keyIdentifierOf(keyBits(spki)));
    t.is(key.keyIdentifier.length, 20);
  });
}

const sizes = 'csr public key: RSA keys must have 2048 to 8192 bits';
const exponents = 'csr public key: the RSA exponent must be odd, 3 or more and below 2^32';
const points = 'csr public key: the point must be uncompressed and of its curve';
const kinds = 'csr public key: the key must be P-256, P-384, RSA or Ed25519';
const even = Buffer.concat([modulus(2040), Buffer.of(0xfe)]);
const refused: readonly (readonly [name: string, spki: Buffer, message: string])[] = [
  ['RSA of 2047 bits', rsa(modulus(2047)), sizes],
  ['RSA of 8193 bits', rsa(modulus(8193)), sizes],
  ['an even modulus', rsa(even), 'csr public key: the RSA modulus must be odd'],
  ['e = 1', rsa(modulus(2048), Buffer.of(1)), exponents],
  ['e = 2', rsa(modulus(2048), Buffer.of(2)), exponents],
  ['e = 4', rsa(modulus(2048), Buffer.of(4)), exponents],
  ['an exponent of five octets', rsa(modulus(2048), Buffer.alloc(5, 0xff)), exponents],
  ['a point of 64 octets', ec(point.subarray(0, 64)), points],
  ['a compressed point', ec(Buffer.concat([Buffer.of(2), point.subarray(1)])), points],
  ['a point of the other curve', ec(point, oids.secp384r1.der), points],
  ['a point off the curve', ec(Buffer.alloc(65, 4)), 'csr public key: it is not a valid key of its kind'],
  ['an unnamed curve', ec(point, sequence()), 'csr public key: a curve must be named, its parameters are not accepted'],
  ['another curve', ec(point, oid('1.3.132.0.10')), 'csr public key: the curve must be P-256 or P-384'],
  ['Ed25519 of 31 octets', ed25519(31), kinds],
  ['Ed25519 of 33 octets', ed25519(33), kinds],
  ['32 octets of another kind', sequence(sequence(oid('1.3.101.113')), bitString(Buffer.alloc(32, 9))), kinds],
];
for (const [name, spki, message] of refused) {
  test(`refused: ${name}`, (t) => {
    t.throws(() => loadSubjectKey(parseSubjectKey(spki)), { instanceOf: InvalidRequestError, message });
  });
}

const bits = bitString(sequence(unsigned(modulus(2048)), unsigned(e65537)));
const tooMuch: readonly (readonly [name: string, spki: Buffer, what: string])[] = [
  ['an algorithm', sequence(sequence(oids.rsaEncryption.der, derNull, derNull), bits), 'the key algorithm'],
  [
    'an algorithm of Ed25519',
    sequence(sequence(oids.ed25519.der, derNull), bitString(Buffer.alloc(32))),
    'the key algorithm',
  ],
  ['a key', sequence(rsaAlgorithm, bits, derNull), 'the public key'],
  [
    'an RSA key',
    sequence(rsaAlgorithm, bitString(sequence(unsigned(modulus(2048)), unsigned(e65537), derNull))),
    'the RSA key',
  ],
  [
    'what follows an RSA key',
    sequence(rsaAlgorithm, bitString(sequence(unsigned(modulus(2048)), unsigned(e65537)), derNull)),
    'the RSA key',
  ],
  ['what follows a key', Buffer.concat([rsa(modulus(2048)), derNull]), 'the public key'],
];
for (const [name, spki, what] of tooMuch) {
  test(`refused: more than there should be in ${name}`, (t) => {
    t.throws(() => parseSubjectKey(spki), { instanceOf: DerError, message: `${what} has more in it than it should` });
  });
}

test('refused: parameters of RSA that are not NULL', (t) => {
  const spki = rsa(modulus(2048), e65537, sequence(oids.rsaEncryption.der, octetString()));
  t.throws(() => parseSubjectKey(spki), { instanceOf: DerError, message: 'the key parameters has the wrong type' });
});
