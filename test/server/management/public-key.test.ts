import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { parsePublicKey } from '@signet/server/management/public-key';
import test from 'ava';

const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });

/** An RSA key with this exponent: whether it is one of the modulus does not matter here. */
function keyWith(exponent: bigint): string {
  const digits = exponent.toString(16);
  const e = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex').toString('base64url');
  const key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

const message = 'is an RSA key whose exponent is not accepted: it must be odd, 3 or more and below 2^32';
const cases: readonly (readonly [note: string, exponent: bigint, isAccepted: boolean])[] = [
  ['one, by which every text is its own signature', 1n, false],
  ['two', 2n, false],
  ['three', 3n, true],
  ['the usual one', 65_537n, true],
  ['an even one', 65_538n, false],
  ['the largest', 2n ** 32n - 1n, true],
  ['the next one that is odd', 2n ** 32n + 1n, false],
  ['one that is as long as the modulus', 2n ** 2047n - 1n, false],
];

for (const [note, exponent, isAccepted] of cases) {
  test(`the exponent of an RSA key of a service: ${note}`, (t) => {
    const pem = keyWith(exponent);
    if (isAccepted) t.is(parsePublicKey(pem), pem);
    else t.throws(() => parsePublicKey(pem), { message });
  });
}
