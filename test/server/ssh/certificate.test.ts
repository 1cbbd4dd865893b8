import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidRequestError } from '@signet/server/errors';
import { checkIssuedSshCertificate, readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { formatSshCertificate, signSshCertificate } from '@signet/server/ssh/sign-certificate';
import { createSshAuthorityKey, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import { hostProfile, type SshProfile, type SshRules, userProfile } from '@signet/server/ssh/ssh-profile';
import { parseSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { SshWireError } from '@signet/server/ssh/wire';
import test from 'ava';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { temporaryFolder } from '#support/temp';

const withOpenSsh = hasSshKeygen ? test : test.skip;

const rules: SshRules = {
  hostExpirySeconds: 86_400,
  userExpirySeconds: 3600,
  extensions: ['permit-pty', 'permit-agent-forwarding', 'permit-X11-forwarding'],
  sourceAddresses: ['10.0.0.0/8', '::1/128'],
  forceCommand: '/bin/true a b',
};
/* 2026-01-01T00:00:00Z */
const now = 1_767_225_600;
const authorityOf = (kind: 'ed25519' | 'p256') => sshAuthorityOf(createPrivateKey(createSshAuthorityKey(kind)));
const authorities = { ed25519: authorityOf('ed25519'), p256: authorityOf('p256') };
/** The end of a certificate that bounds nothing. */
const notAfter = now + 200 * 365 * 86_400;
const nonce = Buffer.alloc(32, 7);
const subject = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
const user = userProfile(
  { keyId: 'user:media.operator', principals: ['deploy', 'media:admin'], serial: (1n << 64n) - 1n, notAfter },
  rules,
  now,
);
const host = hostProfile(
  { keyId: 'host:media.play:i-1', principals: ['play.media.test'], serial: 42n, notAfter },
  rules,
  now,
);

const keys = [
  ['ed25519', ['-t', 'ed25519']],
  ['p256', ['-t', 'ecdsa', '-b', '256']],
  ['p384', ['-t', 'ecdsa', '-b', '384']],
  ['p521', ['-t', 'ecdsa', '-b', '521']],
  ['rsa', ['-t', 'rsa', '-b', '2048']],
] as const;

for (const [name, options] of keys) {
  for (const kind of ['ed25519', 'p256'] as const) {
    for (const profile of [user, host]) {
      withOpenSsh(`ssh-keygen reads a ${profile.kind} certificate for ${name} by ${kind}`, (t) => {
        const folder = temporaryFolder(t);
        const key = parseSshPublicKey(makeSshKey(folder, 'id', ...options).line);
        const blob = signSshCertificate(profile, key, authorities[kind], nonce);
        checkIssuedSshCertificate(blob, profile, key, authorities[kind]);
        const file = join(folder, 'id-cert.pub');
        writeFileSync(file, `${formatSshCertificate(blob, key.type, profile.keyId)}\n`);
        const { status, output } = sshKeygen('-L', '-f', file);
        t.is(status, 0, output);
        t.is(withoutBlanks(output), withoutBlanks(printed(file, profile, key, kind)));
      });
    }
  }
}

const withoutBlanks = (text: string) =>
  text
    .trim()
    .replace(/[ \t]+/g, ' ')
    .replace(/ $/gm, '');

/** Output of `ssh-keygen -L`. */
function printed(
  file: string,
  profile: SshProfile,
  key: { type: string; fingerprint: string },
  kind: 'ed25519' | 'p256',
): string {
  const short: Record<string, string> = { 'ssh-ed25519': 'ED25519', 'ssh-rsa': 'RSA' };
  const signer = authorities[kind].publicKey;
  const isUser = profile.kind === 'user';
  return `${file}:
 Type: ${key.type}-cert-v01@openssh.com ${profile.kind} certificate
 Public key: ${short[key.type] ?? 'ECDSA'}-CERT ${key.fingerprint}
 Signing CA: ${short[signer.type] ?? 'ECDSA'} ${signer.fingerprint} (using ${signer.type})
 Key ID: "${profile.keyId}"
 Serial: ${profile.serial}
 Valid: from 2025-12-31T23:55:00 to ${isUser ? '2026-01-01T01:00:00' : '2026-01-02T00:00:00'}
 Principals:
 ${profile.principals.join('\n ')}
 Critical Options: ${isUser ? '\n force-command /bin/true a b\n source-address 10.0.0.0/8,::1/128' : '(none)'}
 Extensions: ${isUser ? '\n permit-X11-forwarding\n permit-agent-forwarding\n permit-pty' : '(none)'}`;
}

for (const kind of ['ed25519', 'p256'] as const) {
  const blob = signSshCertificate(user, subject, authorities[kind], nonce);
  test(`refuses a certificate cut at any byte: ${kind}`, (t) => {
    for (let length = 0; length < blob.length; length += 1) {
      t.throws(() => readSshCertificate(blob.subarray(0, length)), { instanceOf: SshWireError }, `at ${length}`);
    }
    t.throws(() => readSshCertificate(Buffer.concat([blob, Buffer.of(0)])), { instanceOf: SshWireError });
  });

  test(`refuses a certificate with any byte changed: ${kind}`, (t) => {
    for (let at = 0; at < blob.length; at += 1) {
      const changed = Buffer.from(blob);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      t.throws(() => readSshCertificate(changed), { instanceOf: SshWireError }, `at ${at}`);
    }
  });
}

test('refuses a certificate of enormous length unread', (t) => {
  t.throws(() => readSshCertificate(Buffer.alloc(40_000)), { message: 'the certificate is too long' });
});

const signed = signSshCertificate(user, subject, authorities.p256, nonce);
for (const { field, change } of [
  { field: 'kind', change: { kind: 'host' } as const },
  { field: 'serial', change: { serial: 1n } },
  { field: 'keyId', change: { keyId: 'user:media.other' } },
  { field: 'principals', change: { principals: ['root'] } as const },
  { field: 'validity', change: { validAfter: now } },
  { field: 'validity', change: { validBefore: now + 3601 } },
  { field: 'criticalOptions', change: { criticalOptions: [] } },
  { field: 'extensions', change: { extensions: [] } },
]) {
  test(`does not let out what differs from its profile: ${field} ${Object.keys(change)}`, (t) => {
    t.throws(() => checkIssuedSshCertificate(signed, { ...user, ...change }, subject, authorities.p256), {
      message: `signed SSH certificate differs from its profile: ${field}`,
    });
  });
}

test('does not let out what another authority signed, or for another key', (t) => {
  const other = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
  t.throws(() => checkIssuedSshCertificate(signed, user, subject, authorities.ed25519), { message: /authority$/ });
  t.throws(() => checkIssuedSshCertificate(signed, user, other, authorities.p256), { message: /subject key$/ });
});

const named = { keyId: 'user:a.b', principals: ['deploy'], serial: 1n, notAfter };

for (const { note, principals, message } of [
  { note: 'no principals', principals: [], message: /must not be empty/ },
  { note: 'an empty principal', principals: [''], message: /must not be empty/ },
  { note: 'an empty principal beside another', principals: ['deploy', ''], message: /must not be empty/ },
  { note: '65 principals', principals: Array.from({ length: 65 }, (_, i) => `p${i}`), message: /64 at most/ },
]) {
  test(`no profile with ${note}`, (t) => {
    for (const build of [userProfile, hostProfile]) {
      t.throws(() => build({ ...named, principals }, rules, now), { instanceOf: InvalidRequestError, message });
    }
  });
}

for (const { note, serial } of [
  { note: 'zero', serial: 0n },
  { note: 'negative', serial: -1n },
  { note: '65 bits', serial: 1n << 64n },
]) {
  test(`no profile with a serial number that is ${note}`, (t) => {
    t.throws(() => userProfile({ ...named, serial }, rules, now), { instanceOf: RangeError });
  });
}

const century = 100 * 365 * 86_400;
for (const { note, build, change, maxSeconds, expect } of [
  { note: 'as configured', build: userProfile, change: {}, maxSeconds: undefined, expect: 3600 },
  {
    note: 'a hundred years for a user',
    build: userProfile,
    change: { userExpirySeconds: century },
    maxSeconds: century,
    expect: 7 * 86_400,
  },
  {
    note: 'a hundred years for a host',
    build: hostProfile,
    change: { hostExpirySeconds: century },
    maxSeconds: century,
    expect: 90 * 86_400,
  },
  { note: 'no longer than the certificate beside it', build: hostProfile, change: {}, maxSeconds: 600, expect: 600 },
]) {
  test(`life: ${note}`, (t) => {
    const { validAfter, validBefore } = build({ ...named, maxSeconds }, { ...rules, ...change }, now);
    t.deepEqual({ validAfter, validBefore }, { validAfter: now - 300, validBefore: now + expect });
  });
}

for (const { note, build, expect } of [
  { note: 'a login', build: userProfile, expect: 3600 },
  { note: 'a host', build: hostProfile, expect: rules.hostExpirySeconds },
]) {
  test(`life: ${note} ends with the certificate that asked at the latest`, (t) => {
    const endOf = (end: number) => build({ ...named, notAfter: end }, rules, now).validBefore;
    t.deepEqual([endOf(now + 1), endOf(now + 120)], [now + 1, now + 120]);
    t.deepEqual([endOf(now + expect), endOf(now + expect + 1)], [now + expect, now + expect]);
    t.throws(() => endOf(now), { instanceOf: InvalidRequestError });
  });
}

for (const maxSeconds of [0, -1, Number.NaN]) {
  test(`no life of ${maxSeconds} seconds`, (t) => {
    t.throws(() => userProfile({ ...named, maxSeconds }, rules, now), { instanceOf: InvalidRequestError });
  });
}

test('nothing is permitted that is not configured', (t) => {
  const bare = { ...rules, extensions: [], sourceAddresses: [], forceCommand: undefined };
  t.like(userProfile(named, bare, now), { criticalOptions: [], extensions: [] });
  t.like(hostProfile(named, rules, now), { criticalOptions: [], extensions: [] });
});
