import { generateKeyPairSync } from 'node:crypto';
import { InvalidRequestError } from '@signet/server/errors';
import { nonceLength, signSshCertificate } from '@signet/server/ssh/sign-certificate';
import { parseSshPublicKey, readSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { SshReader, SshWireError, writeMpint, writeString } from '@signet/server/ssh/wire';
import test from 'ava';

/* Each rule of public keys by a key in which nothing else is wrong. */

const refused = (message: string) => ({ instanceOf: SshWireError, message });
const fields = (...parts: readonly (string | Uint8Array)[]) => Buffer.concat(parts.map(writeString));

/** Odd modulus of `bits` bits. */
function modulus(bits: number): Buffer {
  const octets = Buffer.alloc(Math.ceil(bits / 8), 0xff);
  octets[0] = 0xff >> (octets.length * 8 - bits);
  return octets;
}
const e65537 = Buffer.of(1, 0, 1);
const rsa = (n: Buffer, e: Buffer = e65537) => Buffer.concat([writeString('ssh-rsa'), writeMpint(e), writeMpint(n)]);

for (const [note, blob] of [
  ['2048 bits', rsa(modulus(2048))],
  ['8192 bits', rsa(modulus(8192))],
  ['e = 3', rsa(modulus(2048), Buffer.of(3))],
  ['the greatest exponent', rsa(modulus(2048), Buffer.alloc(4, 0xff))],
] as const) {
  test(`a key of RSA: ${note}`, (t) => {
    const key = readSshPublicKey(blob);
    t.deepEqual([key.type, key.blob], ['ssh-rsa', blob]);
  });
}

const sizes = 'RSA keys must have 2048 to 8192 bits';
const exponents = 'the RSA exponent must be odd, 3 or more and below 2^32';
const points = 'the point must be uncompressed and of its curve';
const p256 = sshPublicKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
const point = new SshReader(p256.fields);
point.string('the curve');
const [xy, name] = [point.string('the point'), 'ecdsa-sha2-nistp256'];
for (const [note, blob, message] of [
  ['RSA of 2047 bits', rsa(modulus(2047)), sizes],
  ['RSA of 8193 bits', rsa(modulus(8193)), sizes],
  ['an even modulus', rsa(Buffer.concat([modulus(2040), Buffer.of(0xfe)])), 'the RSA modulus must be odd'],
  ['e = 1', rsa(modulus(2048), Buffer.of(1)), exponents],
  ['e = 4', rsa(modulus(2048), Buffer.of(4)), exponents],
  ['an exponent of five octets', rsa(modulus(2048), Buffer.alloc(5, 0xff)), exponents],
  ['Ed25519 of 31 octets', fields('ssh-ed25519', Buffer.alloc(31)), 'an Ed25519 key must have 32 bytes'],
  ['Ed25519 of 33 octets', fields('ssh-ed25519', Buffer.alloc(33)), 'an Ed25519 key must have 32 bytes'],
  ['a point of 64 octets', fields(name, 'nistp256', xy.subarray(0, 64)), points],
  ['a point of 66 octets', fields(name, 'nistp256', Buffer.concat([xy, Buffer.of(0)])), points],
  ['a compressed point', fields(name, 'nistp256', Buffer.concat([Buffer.of(2), xy.subarray(1)])), points],
  ['another curve', fields(name, 'nistp384', xy), 'the curve of ecdsa-sha2-nistp256 must be nistp256'],
  ['a point off the curve', fields(name, 'nistp256', Buffer.alloc(65, 4)), 'the key is not a valid key of its type'],
  ['more in it', Buffer.concat([rsa(modulus(2048)), Buffer.of(0)]), 'the key is followed by more bytes'],
] as const) {
  test(`no key: ${note}`, (t) => {
    t.throws(() => readSshPublicKey(blob), refused(message));
  });
}

for (const [curve, type] of [
  ['P-256', 'ecdsa-sha2-nistp256'],
  ['P-384', 'ecdsa-sha2-nistp384'],
  ['P-521', 'ecdsa-sha2-nistp521'],
] as const) {
  test(`a key on ${curve} has its own type`, (t) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: curve });
    const key = sshPublicKeyOf(publicKey);
    t.is(key.type, type);
    t.true(readSshPublicKey(key.blob).key.equals(publicKey));
  });
}

test('kinds of keys that have no form here', (t) => {
  const message = 'the key must be Ed25519 or on a NIST curve';
  for (const { publicKey } of [generateKeyPairSync('x25519'), generateKeyPairSync('ec', { namedCurve: 'secp256k1' })]) {
    t.throws(() => sshPublicKeyOf(publicKey), refused(message));
  }
});

test('the type before a key is that of the key, and its base64 the only one', (t) => {
  const line = `${p256.type} ${p256.blob.toString('base64')}`;
  t.is(parseSshPublicKey(`${line} a comment\n`).fingerprint, p256.fingerprint);
  const wrong = (text: string, message: string) =>
    t.throws(() => parseSshPublicKey(text), { instanceOf: InvalidRequestError, message });
  wrong(line.replace(p256.type, 'ssh-rsa'), 'publicKey: the type before the key must be that of the key');
  wrong(line.slice(0, -1), 'publicKey is not Base64');
  wrong(p256.type, 'publicKey must be one line: type, key in Base64, comment');
});

test('a nonce has its length', (t) => {
  const sign = (length: number) => () => signSshCertificate({} as never, p256, {} as never, Buffer.alloc(length));
  for (const length of [0, nonceLength - 1, nonceLength + 1]) {
    t.throws(sign(length), { instanceOf: RangeError, message: 'a nonce has 32 bytes' });
  }
});

test('numbers in their shortest form, and why not', (t) => {
  const read = (hex: string) => () => new SshReader(writeString(Buffer.from(hex, 'hex'))).mpint('it').toString('hex');
  for (const [hex, magnitude] of [
    ['01', '01'],
    ['7f', '7f'],
    ['0080', '80'],
    ['00ff', 'ff'],
  ] as const) {
    t.is(read(hex)(), magnitude);
  }
  for (const hex of ['', '80', 'ff01']) t.throws(read(hex), refused('it must be greater than zero'), hex);
  for (const hex of ['00', '007f', '000080']) t.throws(read(hex), refused('it is not in its shortest form'), hex);
});
