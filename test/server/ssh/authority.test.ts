import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSshAuthorities } from '@signet/server/ssh/open-authorities';
import {
  createSshAuthorityKey,
  knownHostsLine,
  parseSshAuthority,
  readSshAuthority,
  SshAuthorityError,
  trustedUserCaLine,
} from '@signet/server/ssh/ssh-authority';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

for (const { kind, type } of [
  { kind: 'ed25519', type: 'ssh-ed25519' },
  { kind: 'p256', type: 'ecdsa-sha2-nistp256' },
] as const) {
  test(`makes and reads an authority: ${kind}`, (t) => {
    const file = join(temporaryFolder(t), 'authority.pem');
    writeFileSync(file, createSshAuthorityKey(kind), { mode: 0o600 });
    const authority = readSshAuthority(file);
    t.is(authority.publicKey.type, type);
    const blob = authority.publicKey.blob.toString('base64');
    t.is(
      knownHostsLine(authority, ['*.media.test', '127.0.0.1']),
      `@cert-authority *.media.test,127.0.0.1 ${type} ${blob}`,
    );
    t.is(trustedUserCaLine(authority), `${type} ${blob} signet user authority`);
  });
}

const pemOf = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  key.export({ format: 'pem', type: 'pkcs8' }).toString();

for (const { note, pem } of [
  { note: 'RSA', pem: pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey) },
  { note: 'P-384', pem: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey) },
  { note: 'X25519', pem: pemOf(generateKeyPairSync('x25519').privateKey) },
  { note: 'no PEM', pem: 'secret text' },
  {
    note: 'a key with a password',
    pem: generateKeyPairSync('ed25519')
      .privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString(),
  },
]) {
  test(`refuses an authority: ${note}`, (t) => {
    const error = t.throws(() => parseSshAuthority(pem, 'file.pem'), { instanceOf: SshAuthorityError });
    t.true(error.message.includes('`file.pem`'));
    t.false(error.message.includes('secret'));
  });
}

test('a missing file is named', (t) => {
  t.throws(() => readSshAuthority('/nowhere/authority.pem'), {
    instanceOf: SshAuthorityError,
    message: 'SSH authority `/nowhere/authority.pem` cannot be read (ENOENT)',
  });
});

test('hosts and users have different authorities, or none', (t) => {
  const folder = temporaryFolder(t);
  const [one, copy, other] = ['one.pem', 'copy.pem', 'other.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const pem = createSshAuthorityKey();
  writeFileSync(one, pem);
  writeFileSync(copy, pem);
  writeFileSync(other, createSshAuthorityKey());
  t.deepEqual(openSshAuthorities({}), { host: undefined, user: undefined });
  const { host, user } = openSshAuthorities({ hostAuthority: one, userAuthority: other });
  t.not(host?.publicKey.fingerprint, user?.publicKey.fingerprint);
  t.throws(() => openSshAuthorities({ hostAuthority: one, userAuthority: copy }), {
    instanceOf: SshAuthorityError,
    message: 'the SSH authorities of hosts and of users must be different keys',
  });
});
