import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { checkIssuedSshCertificate, readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { signSshCertificate } from '@signet/server/ssh/sign-certificate';
import { createSshAuthorityKey, type SshAuthority, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import type { SshProfile } from '@signet/server/ssh/ssh-profile';
import { type SshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { SshWireError, writePacked, writeString, writeUint32, writeUint64 } from '@signet/server/ssh/wire';
import test from 'ava';

/* Certificates by hand, each signed by the authority that it names, so that no signature stands in for the rule. */

const now = 1_767_225_600;
const authorityOf = (kind: 'ed25519' | 'p256') => sshAuthorityOf(createPrivateKey(createSshAuthorityKey(kind)));
const [ed25519, p256] = [authorityOf('ed25519'), authorityOf('p256')];
const subject = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
const other = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);

interface Shape {
  readonly type?: string;
  readonly kind?: number;
  readonly options?: readonly string[];
  readonly extensions?: readonly (readonly [name: string, data: string])[];
  /** Before and after the signature. */
  readonly after?: Buffer;
  readonly authority?: SshAuthority;
  /** Signature in place of the authority's over the rest. */
  readonly signature?: (signed: Buffer) => Buffer;
}

function certificate({
  type = 'ssh-ed25519-cert-v01@openssh.com',
  kind = 1,
  options = [],
  extensions = [],
  after = Buffer.alloc(0),
  authority = ed25519,
  signature = (signed) => authority.sign(signed),
}: Shape = {}): Buffer {
  const signed = Buffer.concat([
    writeString(type),
    writeString(Buffer.alloc(32, 7)),
    subject.fields,
    writeUint64(42n),
    writeUint32(kind),
    writeString('user:media.operator'),
    writePacked([writeString('deploy')]),
    writeUint64(BigInt(now)),
    writeUint64(BigInt(now + 60)),
    writePacked(options.flatMap((name) => [writeString(name), writePacked([writeString('x')])])),
    writePacked(extensions.flatMap(([name, data]) => [writeString(name), writeString(data)])),
    writeString(''),
    writeString(authority.publicKey.blob),
  ]);
  return Buffer.concat([signed, writeString(signature(signed)), after]);
}

const empty = (...names: readonly string[]) => names.map((name) => [name, ''] as const);

const taken: readonly (readonly [note: string, shape: Shape])[] = [
  ['by Ed25519', {}],
  ['by P-256', { authority: p256 }],
  ['for a host', { kind: 2 }],
  ['with options in order', { options: ['a', 'b', 'c'] }],
  ['with extensions in order', { extensions: empty('a', 'b') }],
];
for (const [note, shape] of taken) {
  test(`a certificate ${note} is read`, (t) => {
    const read = readSshCertificate(certificate(shape));
    t.is(read.kind, shape.kind === 2 ? 'host' : 'user');
    t.deepEqual([read.serial, read.keyId, read.principals], [42n, 'user:media.operator', ['deploy']]);
    t.deepEqual(
      read.criticalOptions.map(([name]) => name),
      [...(shape.options ?? [])],
    );
    t.deepEqual(
      read.extensions,
      (shape.extensions ?? []).map(([name]) => name),
    );
  });
}

const order = 'options and extensions must be in order, each once';
const unsigned = 'the signature does not hold';
const foreign = authorityOf('ed25519');
const tooLong = (name: string) =>
  Buffer.concat([writeString(name), writePacked([writeString(Buffer.alloc(33, 1)), writeString('s')])]);
const short = (name: string) =>
  Buffer.concat([writeString(name), writePacked([writeString('r'), writeString(Buffer.alloc(33, 1))])]);
const refused: readonly (readonly [note: string, shape: Shape, message: string | RegExp])[] = [
  [
    'a type that we do not issue',
    { type: 'ssh-dss-cert-v01@openssh.com' },
    'the certificate type is not one that we issue',
  ],
  ['the type of a key', { type: 'ssh-ed25519' }, 'the certificate type is not one that we issue'],
  ['no kind', { kind: 0 }, 'the kind must be user or host'],
  ['another kind', { kind: 3 }, 'the kind must be user or host'],
  ['options out of order', { options: ['b', 'a'] }, order],
  ['an option twice', { options: ['a', 'a'] }, order],
  ['extensions out of order', { extensions: empty('a', 'c', 'b') }, order],
  ['an extension twice', { extensions: empty('a', 'b', 'b') }, order],
  ['an extension with data', { extensions: [['a', 'x']] }, 'extensions carry no data'],
  ['octets after it', { after: Buffer.of(0) }, 'the certificate is followed by more bytes'],
  ['the signature of another authority', { signature: (signed) => foreign.sign(signed) }, unsigned],
  ['the signature of something else', { signature: () => ed25519.sign(Buffer.from('x')) }, unsigned],
  [
    'the signature of something else by P-256',
    { authority: p256, signature: () => p256.sign(Buffer.from('x')) },
    unsigned,
  ],
  [
    'a signature that is named otherwise',
    { signature: (signed) => Buffer.concat([writeString('ssh-rsa'), ed25519.sign(signed).subarray(4 + 11)]) },
    unsigned,
  ],
  ['a number too long for P-256', { authority: p256, signature: () => tooLong('ecdsa-sha2-nistp256') }, unsigned],
  ['another number too long for it', { authority: p256, signature: () => short('ecdsa-sha2-nistp256') }, unsigned],
];
for (const [note, shape, message] of refused) {
  test(`refused: ${note}`, (t) => {
    t.throws(() => readSshCertificate(certificate(shape)), { instanceOf: SshWireError, message });
  });
}

test('a certificate of 32 KiB, and one octet more', (t) => {
  const rest = certificate({ options: ['o'] }).length - 1;
  const ofLength = (length: number) => certificate({ options: ['o'.repeat(length - rest)] });
  t.is(ofLength(32_768).length, 32_768);
  t.notThrows(() => readSshCertificate(ofLength(32_768)));
  t.throws(() => readSshCertificate(ofLength(32_769)), {
    instanceOf: SshWireError,
    message: 'the certificate is too long',
  });
});

const profile: SshProfile = {
  kind: 'user',
  serial: 42n,
  keyId: 'user:media.operator',
  principals: ['deploy'],
  validAfter: now,
  validBefore: now + 60,
  criticalOptions: [['force-command', '/bin/true']],
  extensions: ['permit-pty'],
};

const wrongs: readonly (readonly [field: string, meant: Partial<SshProfile>, key?: SshPublicKey, by?: SshAuthority])[] =
  [
    ['kind', { kind: 'host' }],
    ['serial', { serial: 43n }],
    ['keyId', { keyId: 'user:media.other' }],
    ['principals', { principals: ['deploy', 'root'] }],
    ['validity', { validAfter: now - 1 }],
    ['validity', { validBefore: now + 61 }],
    ['criticalOptions', { criticalOptions: [] }],
    ['extensions', { extensions: [] }],
    ['subject key', {}, other],
    ['subject key', {}, { ...subject, type: 'ssh-rsa' }],
    ['authority', {}, subject, foreign],
  ];
for (const [index, [field, meant, key = subject, by = ed25519]] of wrongs.entries()) {
  test(`a certificate that differs from what was meant, ${index}: ${field}`, (t) => {
    const blob = signSshCertificate(profile, subject, ed25519, Buffer.alloc(32, 7));
    t.notThrows(() => checkIssuedSshCertificate(blob, profile, subject, ed25519));
    t.throws(() => checkIssuedSshCertificate(blob, { ...profile, ...meant }, key, by), {
      message: `signed SSH certificate differs from its profile: ${field}`,
    });
  });
}

test('a certificate without principals is never let out', (t) => {
  const everywhere = { ...profile, principals: [] as unknown as SshProfile['principals'] };
  const blob = signSshCertificate(everywhere, subject, ed25519, Buffer.alloc(32, 7));
  t.throws(() => checkIssuedSshCertificate(blob, everywhere, subject, ed25519), {
    message: 'signed SSH certificate differs from its profile: principals',
  });
});
