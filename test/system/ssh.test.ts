import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildKrl } from '@signet/server/ssh/krl';
import { formatSshCertificate, signSshCertificate } from '@signet/server/ssh/sign-certificate';
import {
  createSshAuthorityKey,
  knownHostsLine,
  sshAuthorityOf,
  trustedUserCaLine,
} from '@signet/server/ssh/ssh-authority';
import { hostProfile, type SshRules, userProfile } from '@signet/server/ssh/ssh-profile';
import { parseSshPublicKey } from '@signet/server/ssh/ssh-public-key';
import test, { type ExecutionContext } from 'ava';
import { makeSshKey } from '#support/openssh';
import * as sshd from '#support/sshd';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* A real sshd and a real ssh on loopback: who is let in with which certificate, and which host is known by which. */

const withSshd = sshd.hasSshd ? test : test.skip;
if (!sshd.hasSshd) test('OpenSSH is not installed here: what needs a real sshd is skipped', (t) => t.pass());

const { login } = sshd;
const hostName = 'play.media.test';
const now = () => Math.floor((performance.timeOrigin + performance.now()) / 1000);

interface Shape {
  readonly principals?: readonly string[];
  readonly serial?: bigint;
  readonly keyId?: string;
  readonly rules?: Partial<SshRules>;
  /** When it is issued, in seconds from now. */
  readonly at?: number;
  readonly by?: 'user' | 'host' | 'stranger';
  readonly kind?: 'user' | 'host';
}

const rules: SshRules = { hostExpirySeconds: 3600, userExpirySeconds: 3600, extensions: [], sourceAddresses: [] };

const authorityOf = (kind: 'ed25519' | 'p256') => sshAuthorityOf(createPrivateKey(createSshAuthorityKey(kind)));

/** Authorities, keys and the files around them, in a folder of the test. */
function makeWorld(t: ExecutionContext, kind: 'ed25519' | 'p256') {
  const folder = temporaryFolder(t);
  const authorities = { host: authorityOf(kind), user: authorityOf(kind), stranger: authorityOf(kind) };
  const certify = (keyFile: string, name: string, shape: Shape, usual: 'user' | 'host'): string => {
    const key = parseSshPublicKey(readFileSync(`${keyFile}.pub`, 'utf8'));
    const subject = {
      keyId: shape.keyId ?? `${usual}:media.test`,
      principals: shape.principals ?? (usual === 'user' ? [login] : [hostName]),
      serial: shape.serial ?? 1n,
      notAfter: now() + 365 * 86_400,
    };
    const build = (shape.kind ?? usual) === 'user' ? userProfile : hostProfile;
    const profile = build(subject, { ...rules, ...shape.rules }, now() + (shape.at ?? 0));
    const blob = signSshCertificate(profile, key, authorities[shape.by ?? usual], Buffer.alloc(32, 5));
    const file = join(folder, `${name}-cert.pub`);
    writeFileSync(file, `${formatSshCertificate(blob, key.type, subject.keyId)}\n`);
    return file;
  };
  const hostKey = makeSshKey(folder, 'host_key', '-t', 'ed25519').file;
  const userKey = makeSshKey(folder, 'user_key', '-t', 'ecdsa', '-b', '256').file;
  return { folder, authorities, certify, hostKey, userKey };
}
type World = ReturnType<typeof makeWorld>;

/** Starts sshd with a host certificate of this shape, trusting the user authority; it ends with the test. */
async function startSshd(t: ExecutionContext, world: World, host: Shape = {}, krl?: Buffer) {
  const at = (name: string) => join(world.folder, name);
  writeFileSync(at('revoked.krl'), krl ?? buildKrl({ version: 1n, generatedAt: now(), revoked: [] }));
  writeFileSync(at('trusted'), `${trustedUserCaLine(world.authorities.user)}\n`);
  return sshd.startSshd(t, {
    folder: world.folder,
    hostKey: world.hostKey,
    hostCertificate: world.certify(world.hostKey, 'host', host, 'host'),
    trusted: at('trusted'),
    revoked: at('revoked.krl'),
    principals: [login, 'media:admin'],
  });
}

/** Logs in as `ssh` does, with this certificate; answers what the command printed, and what ssh said. */
function logIn(world: World, port: number, certificate: string, names = 'play.media.test') {
  const knownHosts = join(world.folder, 'known_hosts');
  writeFileSync(knownHosts, `${knownHostsLine(world.authorities.host, [names])}\n`);
  return sshd.logIn({ port, key: world.userKey, certificate, knownHosts, host: hostName });
}

for (const kind of ['ed25519', 'p256'] as const) {
  withSshd(`the host is known by its certificate and the user logs in with one: ${kind}`, async (t) => {
    const world = makeWorld(t, kind);
    const { port, log } = await startSshd(t, world);
    const certificate = world.certify(world.userKey, 'good', { serial: 77n, keyId: 'user:user.olive' }, 'user');
    t.deepEqual(await logIn(world, port, certificate), { printed: 'let in\n', said: '' });
    t.regex(log(), /Accepted publickey .* ID user:user\.olive \(serial 77\)/);
  });
}

withSshd('a login of a domain is let in where sshd lists it', async (t) => {
  const world = makeWorld(t, 'ed25519');
  const { port } = await startSshd(t, world);
  const good = world.certify(world.userKey, 'good', { principals: ['media:admin'] }, 'user');
  t.is((await logIn(world, port, good)).printed, 'let in\n');
  const other = world.certify(world.userKey, 'other', { principals: ['catalog:admin'] }, 'user');
  t.is((await logIn(world, port, other)).printed, '');
});

withSshd('configured options bind: a forced command, and networks', async (t) => {
  const world = makeWorld(t, 'ed25519');
  const { port } = await startSshd(t, world);
  const forced = world.certify(world.userKey, 'forced', { rules: { forceCommand: 'echo forced' } }, 'user');
  t.is((await logIn(world, port, forced)).printed, 'forced\n');
  const near = world.certify(
    world.userKey,
    'near',
    { rules: { sourceAddresses: ['10.0.0.0/8', '127.0.0.0/8'] } },
    'user',
  );
  t.is((await logIn(world, port, near)).printed, 'let in\n');
  const far = world.certify(world.userKey, 'far', { rules: { sourceAddresses: ['10.0.0.0/8'] } }, 'user');
  t.is((await logIn(world, port, far)).printed, '');
});

const refused: { note: string; shape: Shape; log: RegExp }[] = [
  { note: 'an expired certificate', shape: { at: -4000 }, log: /Certificate invalid: expired/ },
  { note: 'a certificate of the future', shape: { at: 1000 }, log: /Certificate invalid: not yet valid/ },
  {
    note: 'another principal',
    shape: { principals: ['nobody-here'] },
    log: /Certificate does not contain an authorized principal/,
  },
  {
    note: 'another authority',
    shape: { by: 'stranger' },
    log: /Failed publickey .* ECDSA-CERT /,
  },
  { note: 'the authority of the hosts', shape: { by: 'host' }, log: /Failed publickey .* ECDSA-CERT / },
  // ssh itself does not offer it, and falls back on the bare key.
  { note: 'a host certificate', shape: { kind: 'host' }, log: /Failed publickey .* ECDSA SHA256/ },
  { note: 'a number that is revoked', shape: { serial: 5n }, log: /revoked by file/ },
  { note: 'a key id that is revoked', shape: { keyId: 'user:media.gone' }, log: /revoked by file/ },
];

withSshd('the user is refused, and sshd says why', async (t) => {
  const world = makeWorld(t, 'ed25519');
  const revoked = [{ authority: world.authorities.user.publicKey, serials: [5n], keyIds: ['user:media.gone'] }];
  const { port, log } = await startSshd(t, world, {}, buildKrl({ version: 2n, generatedAt: now(), revoked }));
  for (const [index, { note, shape, log: expected }] of refused.entries()) {
    const before = log().length;
    const { printed, said } = await logIn(world, port, world.certify(world.userKey, `bad${index}`, shape, 'user'));
    t.is(printed, '', note);
    t.regex(said, /Permission denied/, note);
    await until(`sshd says why: ${note}`, () => expected.test(log().slice(before)));
  }
  const good = world.certify(world.userKey, 'good', { serial: 6n }, 'user');
  t.is((await logIn(world, port, good)).printed, 'let in\n');
});

const hosts: { note: string; shape: Shape; knownHosts?: string }[] = [
  { note: 'an expired certificate', shape: { at: -4000 } },
  { note: 'the name of another host', shape: { principals: ['db.media.test'] } },
  { note: 'another authority', shape: { by: 'stranger' } },
  { note: 'the authority of the users', shape: { by: 'user' } },
  { note: 'an authority for other names', shape: {}, knownHosts: '*.catalog.test' },
];

for (const { note, shape, knownHosts } of hosts) {
  withSshd(`the host is not known: ${note}`, async (t) => {
    const world = makeWorld(t, 'ed25519');
    const { port } = await startSshd(t, world, shape);
    const { printed, said } = await logIn(world, port, world.certify(world.userKey, 'good', {}, 'user'), knownHosts);
    t.is(printed, '');
    t.regex(said, /Host key verification failed/);
  });
}
