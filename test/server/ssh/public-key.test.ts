import { generateKeyPairSync } from 'node:crypto';
import { InvalidRequestError } from '@signet/server/errors';
import {
  formatSshPublicKey,
  parseSshPublicKey,
  readSshPublicKey,
  sshPublicKeyOf,
} from '@signet/server/ssh/ssh-public-key';
import { SshWireError, writeMpint, writeString } from '@signet/server/ssh/wire';
import test from 'ava';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { temporaryFolder } from '#support/temp';

const withOpenSsh = hasSshKeygen ? test : test.skip;

for (const { type, options } of [
  { type: 'ssh-ed25519', options: ['-t', 'ed25519'] },
  { type: 'ecdsa-sha2-nistp256', options: ['-t', 'ecdsa', '-b', '256'] },
  { type: 'ecdsa-sha2-nistp384', options: ['-t', 'ecdsa', '-b', '384'] },
  { type: 'ecdsa-sha2-nistp521', options: ['-t', 'ecdsa', '-b', '521'] },
  { type: 'ssh-rsa', options: ['-t', 'rsa', '-b', '2048'] },
] as const) {
  withOpenSsh(`reads what ssh-keygen made: ${type}`, (t) => {
    const { file, line } = makeSshKey(temporaryFolder(t), 'key', ...options);
    const key = parseSshPublicKey(line);
    t.is(key.type, type);
    t.is(`${formatSshPublicKey(key)} key@test\n`, line);
    t.is(sshKeygen('-l', '-f', `${file}.pub`).output.split(' ')[1], key.fingerprint);
  });
}

const blobOf = (...fields: Buffer[]) => Buffer.concat(fields);
const lineOf = (blob: Buffer, type: string) => `${type} ${blob.toString('base64')}`;
const ed25519 = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
const p256 = sshPublicKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
const modulus = (bytes: number) => Buffer.concat([Buffer.of(0xc1), Buffer.alloc(bytes - 1, 0xff)]);
const rsa = (n: Buffer, e = Buffer.of(1, 0, 1)) => blobOf(writeString('ssh-rsa'), writeMpint(e), writeMpint(n));
const offCurve = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]);
const point = (type: string, curve: string, q: Buffer) => blobOf(writeString(type), writeString(curve), writeString(q));

const refused: { note: string; line: string; message: RegExp }[] = [
  { note: 'empty', line: '', message: /one line/ },
  { note: 'a type alone', line: 'ssh-ed25519', message: /one line/ },
  { note: 'two lines', line: `${formatSshPublicKey(ed25519)}\n${formatSshPublicKey(ed25519)}`, message: /one line/ },
  { note: 'options before the key', line: `command="id" ${formatSshPublicKey(ed25519)}`, message: /one line/ },
  { note: 'a very long line', line: `${formatSshPublicKey(ed25519)} ${'x'.repeat(5000)}`, message: /one line/ },
  { note: 'Base64 with wrong padding', line: 'ssh-ed25519 AAAAC3=', message: /not Base64/ },
  { note: 'another type before the key', line: lineOf(ed25519.blob, 'ssh-rsa'), message: /that of the key/ },
  {
    note: 'DSA',
    line: lineOf(blobOf(writeString('ssh-dss'), writeMpint(modulus(128))), 'ssh-dss'),
    message: /must be one of/,
  },
  {
    note: 'a security key',
    line: lineOf(blobOf(writeString('sk-ssh-ed25519@openssh.com'), writeString('')), 'sk-ssh-ed25519@openssh.com'),
    message: /must be one of/,
  },
  {
    note: 'a certificate',
    line: lineOf(blobOf(writeString('ssh-ed25519-cert-v01@openssh.com')), 'ssh-ed25519-cert-v01@openssh.com'),
    message: /must be one of/,
  },
  { note: 'RSA of 1024 bits', line: lineOf(rsa(modulus(128)), 'ssh-rsa'), message: /2048 to 8192/ },
  {
    note: 'RSA of 2047 bits',
    line: lineOf(rsa(Buffer.concat([Buffer.of(0x7f), Buffer.alloc(255, 0xff)])), 'ssh-rsa'),
    message: /2048 to 8192/,
  },
  { note: 'RSA of 8200 bits', line: lineOf(rsa(modulus(1025)), 'ssh-rsa'), message: /2048 to 8192/ },
  { note: 'RSA, exponent 1', line: lineOf(rsa(modulus(256), Buffer.of(1)), 'ssh-rsa'), message: /exponent/ },
  { note: 'RSA, even exponent', line: lineOf(rsa(modulus(256), Buffer.of(4)), 'ssh-rsa'), message: /exponent/ },
  {
    note: 'RSA, long exponent',
    line: lineOf(rsa(modulus(256), Buffer.alloc(200, 0x7f)), 'ssh-rsa'),
    message: /exponent/,
  },
  {
    note: 'RSA, even modulus',
    line: lineOf(rsa(Buffer.concat([modulus(255), Buffer.of(2)])), 'ssh-rsa'),
    message: /odd/,
  },
  {
    note: 'Ed25519 of 31 bytes',
    line: lineOf(blobOf(writeString('ssh-ed25519'), writeString(Buffer.alloc(31))), 'ssh-ed25519'),
    message: /32 bytes/,
  },
  { note: 'bytes after the key', line: lineOf(blobOf(ed25519.blob, Buffer.of(0)), 'ssh-ed25519'), message: /followed/ },
  {
    note: 'a point off the curve',
    line: lineOf(point('ecdsa-sha2-nistp256', 'nistp256', offCurve), 'ecdsa-sha2-nistp256'),
    message: /not a valid key/,
  },
  {
    note: 'a compressed point',
    line: lineOf(
      point('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(2), Buffer.alloc(32, 1)])),
      'ecdsa-sha2-nistp256',
    ),
    message: /uncompressed/,
  },
  {
    note: 'a curve of another name',
    line: lineOf(point('ecdsa-sha2-nistp256', 'nistp384', offCurve), 'ecdsa-sha2-nistp256'),
    message: /must be nistp256/,
  },
];

for (const { note, line, message } of refused) {
  test(`refuses: ${note}`, (t) => {
    const error = t.throws(() => parseSshPublicKey(line, 'field'), { instanceOf: InvalidRequestError });
    t.regex(error.message, message);
    t.regex(error.message, /^field/);
  });
}

for (const key of [ed25519, p256, readSshPublicKey(rsa(modulus(256)))]) {
  test(`refuses a key cut at any byte: ${key.type}`, (t) => {
    for (let length = 0; length < key.blob.length; length += 1) {
      t.throws(() => readSshPublicKey(key.blob.subarray(0, length)), { instanceOf: SshWireError }, `at ${length}`);
    }
  });
}
