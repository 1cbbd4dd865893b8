import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildKrl, type RevokedBy } from '@signet/server/ssh/krl';
import { formatSshCertificate, signSshCertificate } from '@signet/server/ssh/sign-certificate';
import { createSshAuthorityKey, type SshAuthority, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import { hostProfile, type SshRules, userProfile } from '@signet/server/ssh/ssh-profile';
import { parseSshPublicKey, type SshPublicKey } from '@signet/server/ssh/ssh-public-key';
import test, { type ExecutionContext } from 'ava';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { temporaryFolder } from '#support/temp';

const withOpenSsh = hasSshKeygen ? test : test.skip;

const now = 1_767_225_600;
const rules: SshRules = { hostExpirySeconds: 3600, userExpirySeconds: 3600, extensions: [], sourceAddresses: [] };
const authority = sshAuthorityOf(createPrivateKey(createSshAuthorityKey('ed25519')));
const other = sshAuthorityOf(createPrivateKey(createSshAuthorityKey('p256')));

interface World {
  readonly folder: string;
  certificate(name: string, by: SshAuthority, serial: bigint, keyId: string, kind?: 'user' | 'host'): string;
  /** The certificates of which `ssh-keygen -Q` says that they are revoked. */
  revoked(krl: Buffer, files: readonly string[]): string[];
}

function world(t: ExecutionContext): World {
  const folder = temporaryFolder(t);
  const key: SshPublicKey = parseSshPublicKey(makeSshKey(folder, 'id', '-t', 'ed25519').line);
  return {
    folder,
    certificate(name, by, serial, keyId, kind = 'user') {
      const subject = { keyId, principals: ['deploy'], serial, notAfter: now + 365 * 86_400 };
      const profile = kind === 'user' ? userProfile(subject, rules, now) : hostProfile(subject, rules, now);
      const blob = signSshCertificate(profile, key, by, Buffer.alloc(32, 1));
      const file = join(folder, `${name}-cert.pub`);
      writeFileSync(file, `${formatSshCertificate(blob, key.type, name)}\n`);
      return file;
    },
    revoked(krl, files) {
      const list = join(folder, 'revoked.krl');
      writeFileSync(list, krl);
      return files.filter((file) => {
        const { status, output } = sshKeygen('-Q', '-f', list, file);
        t.true((status === 0 && /: ok$/m.test(output)) || (status === 1 && /: REVOKED$/m.test(output)), output);
        return status === 1;
      });
    },
  };
}

const krl = (...revoked: RevokedBy[]) => buildKrl({ version: 3n, generatedAt: now, comment: 'a test', revoked });
const by = (of: SshAuthority, serials: bigint[], keyIds: string[] = []): RevokedBy => ({
  authority: of.publicKey,
  serials,
  keyIds,
});

withOpenSsh('ssh-keygen finds what is revoked by number, and nothing else', (t) => {
  const { certificate, revoked } = world(t);
  const serials = [1n, 2n, 3n, 0x8000_0000_0000_0000n, (1n << 64n) - 1n];
  const files = serials.map((serial) => certificate(`n${serial}`, authority, serial, 'user:a.b'));
  const foreign = certificate('foreign', other, 2n, 'user:a.b');
  const list = krl(by(authority, [(1n << 64n) - 1n, 2n, 2n, 0x8000_0000_0000_0000n]));
  t.deepEqual(revoked(list, [...files, foreign]), [files[1], files[3], files[4]]);
});

withOpenSsh('ssh-keygen finds what is revoked by key id, and nothing else', (t) => {
  const { certificate, revoked } = world(t);
  const mine = certificate('mine', authority, 10n, 'host:media.play:i-1', 'host');
  const longer = certificate('longer', authority, 11n, 'host:media.play:i-12', 'host');
  const foreign = certificate('foreign', other, 10n, 'host:media.play:i-1', 'host');
  const list = krl(by(authority, [], ['host:media.play:i-1', 'host:zebra.x:i', 'host:apple.x:i']));
  t.deepEqual(revoked(list, [mine, longer, foreign]), [mine]);
});

withOpenSsh('two authorities and both ways in one list', (t) => {
  const { certificate, revoked, folder } = world(t);
  const files = [
    certificate('a1', authority, 1n, 'user:a.b'),
    certificate('a2', authority, 2n, 'user:c.d'),
    certificate('o1', other, 1n, 'user:a.b'),
    certificate('o2', other, 2n, 'user:c.d'),
  ];
  t.deepEqual(revoked(krl(by(authority, [1n], []), by(other, [7n], ['user:c.d'])), files), [files[0], files[3]]);
  const { output } = sshKeygen('-Q', '-l', '-f', join(folder, 'revoked.krl'));
  t.regex(output, /KRL version 3/);
  t.regex(output, /Generated at 20260101T000000/);
  t.regex(output, /a test/);
  t.regex(output, /serial: 1\n/);
  t.regex(output, /id: user:c\.d/);
});

withOpenSsh('a list that revokes nothing is a list', (t) => {
  const { certificate, revoked } = world(t);
  const file = certificate('a', authority, 1n, 'user:a.b');
  t.deepEqual(revoked(krl(), [file]), []);
  t.deepEqual(revoked(krl(by(authority, []), by(other, [1n])), [file]), []);
});

withOpenSsh('ten thousand numbers', (t) => {
  const { certificate, revoked } = world(t);
  const serials = Array.from({ length: 10_000 }, (_, index) => BigInt(index * 2 + 1) << 40n);
  const [hit, miss] = [
    certificate('hit', authority, 9999n << 40n, 'user:a.b'),
    certificate('miss', authority, 9998n << 40n, 'user:a.b'),
  ];
  t.deepEqual(revoked(krl(by(authority, serials)), [hit, miss]), [hit]);
});

for (const { note, revoked } of [
  { note: 'the serial number 0', revoked: by(authority, [5n, 0n]) },
  { note: 'a serial number of 65 bits', revoked: by(authority, [1n << 64n]) },
  { note: 'an empty key id', revoked: by(authority, [], ['']) },
]) {
  test(`refuses ${note}`, (t) => {
    t.throws(() => krl(revoked), { instanceOf: RangeError });
  });
}

test('an authority that has revoked nothing has no section', (t) => {
  t.deepEqual(krl(by(authority, []), by(other, [1n])), krl(by(other, [1n])));
  t.deepEqual(krl(by(authority, [])), krl());
});
