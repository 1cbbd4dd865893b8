import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openIdentityAgent } from '@signet/client';
import { epochSeconds, parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import { readAttestation } from '@signet/server/cli/identity/attestation-option';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import test, { type ExecutionContext } from 'ava';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { FakeClock } from '#support/clock';
import { instanceDomains, instanceWorld } from '#support/instance-world';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { createPki } from '#support/pki';
import { runProgram } from '#support/run-program';
import { runSignet } from '#support/run-signet';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const main = fileURLToPath(import.meta.resolve('@signet/server/main'));
const withKeygen = hasSshKeygen ? test : test.skip;

const [sysAuth, ...others] = instanceDomains;
const logins = {
  ...sysAuth,
  roles: {
    ...sysAuth.roles,
    'ssh-users': ['media.admin'],
    launchers: ['sys.auth.server'],
    operators: ['sys.auth.operator'],
  },
  policies: {
    ...sysAuth.policies,
    logins: [['ALLOW', 'ssh-users', 'ssh_login', 'ssh.deploy']],
    hosts: [['ALLOW', 'launchers', 'launch', 'hostname.example.com']],
  },
} as const;

const file = wholeFile();
const folderOfKeys = mkdtempSync(join(tmpdir(), 'signet-ssh-'));
file.teardown(() => rmSync(folderOfKeys, { recursive: true }));

function authorityKey(name: string): string {
  const path = join(folderOfKeys, name);
  writeFileSync(path, createSshAuthorityKey(), { mode: 0o600 });
  return path;
}

const issuer = await generateKeyPair('ES256', { extractable: true });
const keysFile = join(folderOfKeys, 'issuer.json');
writeFileSync(
  keysFile,
  JSON.stringify({ keys: [{ ...(await exportJWK(issuer.publicKey)), kid: 'k1', alg: 'ES256' }] }),
);
const jwtIssuer = { issuer: 'https://ci.example', audience: 'signet', subject: '{domain}/{service}/{instanceId}' };

const world = await instanceWorld(file, {
  domains: [logins, ...others],
  options: {
    'ssh.hostAuthority': authorityKey('host.pem'),
    'ssh.userAuthority': authorityKey('user.pem'),
    'ssh.hostExpirySeconds': 3600,
    'instances.jwtIssuers': [{ provider: 'prov.jwt', ...jwtIssuer, keysFile }],
  },
});
test.after.always(() => file.end());

/** A program of its own, where what a hook writes is looked at. */
const signetProgram = (...args: readonly string[]) =>
  runProgram(process.execPath, ['--conditions=@signet/source', main, ...args]);
const server = ['--url', world.baseUrl, '--ca', join(world.folder, 'bundle.pem')];

/** An instance of `media.player` with a folder of its own and a token to register with. */
async function instance(t: ExecutionContext, id: string) {
  const folder = temporaryFolder(t);
  const at = (...parts: string[]) => join(folder, 'identity', ...parts);
  const token = join(folder, 'token');
  writeFileSync(token, await world.token(id));
  const own = ['--name', 'media.player', '--instance-id', id, '--dir', at(), '--trust-domain', 'signet.test'];
  const words = ['identity', 'once', ...server, ...own, '--json'];
  const once = (...more: readonly string[]) => runSignet(...words, ...more);
  return { folder, at, token, words, once };
}

test('host name and address are asked for, and the hook runs after each new certificate', async (t) => {
  const { folder, at, token, words } = await instance(t, 'o-1');
  const once = (...more: readonly string[]) => signetProgram(...words, ...more);
  const log = join(folder, 'hook.log');
  const more = ['--attestation', token, '--host-name', 'node-1.example.com'];
  const hook = ['--on-renew', `openssl x509 -in "$SIGNET_CERTIFICATE" -noout -ext subjectAltName >> '${log}'`];
  const first = await once(...more, ...hook);
  t.deepEqual([first.status, first.stderr], [0, '']);
  t.regex(
    readFileSync(log, 'utf8'),
    /DNS:o-1\.player\.media\.sys-auth-server\.instanceid\.signet\.test, DNS:node-1\.example\.com/,
  );
  t.false(existsSync(at('ssh-host-cert.pub')));

  t.like(JSON.parse((await once(...more, ...hook)).stdout), { outcome: 'current' });
  t.is(readFileSync(log, 'utf8').match(/DNS:node-1/g)?.length, 1, 'nothing new, no hook');

  const failed = await once('--force', ...more, '--on-renew', 'echo shown; exit 3');
  t.deepEqual([failed.status, failed.stderr], [1, 'shown\n']);
  t.like(JSON.parse(failed.stdout), { outcome: 'refreshed', problem: 'the command of --on-renew ended with status 3' });
});

test('a command may attest the instance; what it says when it fails is not mistaken for that', async (t) => {
  const { token, once } = await instance(t, 'o-2');
  for (const [command, error] of [
    ['exit 4', 'the command of --attestation-command ended with status 4'],
    ['true', 'the command of --attestation-command printed nothing'],
    [
      'echo signet-join-wrong',
      'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one',
    ],
  ] as const) {
    const { status, stdout } = await once('--attestation-command', command);
    t.deepEqual([status, JSON.parse(stdout).outcome, JSON.parse(stdout).error], [1, 'failed', error]);
  }
  const { status, stdout } = await once('--attestation-command', `cat '${token}'`);
  t.deepEqual([status, JSON.parse(stdout).outcome], [0, 'registered']);
});

test('a token that the platform keeps fresh in a file attests the instance, each time again', async (t) => {
  const { folder, at } = await instance(t, 'o-5');
  const file = join(folder, 'platform-token');
  const put = async (subject: string, from: number) => {
    const token = new SignJWT({ iat: from, exp: from + 300 }).setIssuer('https://ci.example').setAudience('signet');
    writeFileSync(
      file,
      await token.setSubject(subject).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(issuer.privateKey),
    );
  };
  const now = epochSeconds(systemClock);
  const name = { domain: 'media', service: 'player' };
  const agent = openIdentityAgent({
    baseUrl: world.baseUrl,
    caBundle: join(world.folder, 'bundle.pem'),
    folder: at(),
    instance: { ...name, provider: 'prov.jwt', instanceId: 'o-5', trustDomain: 'signet.test' },
    attestation: () => readAttestation({ attestation: file }),
  });
  const outcome = async (force = false) => {
    const done = await agent.step({ force });
    return done.kind === 'failed' ? `failed: ${done.error.serverMessage ?? done.error.message}` : done.kind;
  };
  t.is(await outcome(), 'failed: attestation data is missing');
  await put('media/studio/o-5', now);
  t.is(await outcome(), 'failed: attestationData is a token whose claim `sub` names something else');
  await put('media/player/o-5', now);
  t.is(await outcome(), 'registered');
  await put('media/player/o-5', now - 600);
  t.is(await outcome(true), 'failed: attestationData is a token with no time left');
  await put('media/player/o-5', now);
  t.is(await outcome(true), 'refreshed');
});

test('status tells when the next renewal is due, as the agent does', async (t) => {
  const { at, token, once } = await instance(t, 'o-3');
  const { nextAt } = JSON.parse((await once('--attestation', token)).stdout);
  const { stdout } = await runSignet('identity', 'status', '--dir', at(), '--json');
  const { state, renewAt, notAfter } = JSON.parse(stdout);
  t.is(state, 'valid');
  t.true(renewAt < notAfter);
  const apart = Math.abs((parseTimestamp(renewAt) ?? 0) - (parseTimestamp(nextAt) ?? 1e12));
  t.true(apart <= 2000, `${renewAt} is not ${nextAt}`);
});

for (const [state, daysAgo, expected] of [
  ['due', 25, 0],
  ['ended', 31, 1],
] as const) {
  test(`status says that a certificate of thirty days is ${state} after ${daysAgo}`, async (t) => {
    const { certificate, key } = await (
      await createPki(new FakeClock(systemClock.now() - daysAgo * 86_400_000))
    ).identity('media.player');
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, '.current'));
    const files = { 'cert.pem': certificate, 'key.pem': key, 'issuers.pem': certificate };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, '.current', name), text);
    const { status, stdout } = await runSignet('identity', 'status', '--dir', folder, '--json');
    t.deepEqual([status, JSON.parse(stdout).state], [expected, state]);
  });
}

withKeygen('a host gets its SSH certificate beside, with the names of its certificate', async (t) => {
  const { folder, at, token, once } = await instance(t, 'o-4');
  const { file: key } = makeSshKey(folder, 'ssh_host_ed25519_key', '-t', 'ed25519');
  const wrong = await once('--attestation', token, '--ssh-host-key', key);
  t.like(JSON.parse(wrong.stdout), { outcome: 'failed', error: 'sshHostKey is a private key, not the public one' });

  const more = ['--attestation', token, '--host-name', 'node-4.example.com', '--ssh-host-key', `${key}.pub`];
  const first = await once(...more);
  t.is(first.status, 0, first.stdout + first.stderr);
  t.is(statSync(at('ssh-host-cert.pub')).mode & 0o777, 0o644);
  const shown = sshKeygen('-L', '-f', at('ssh-host-cert.pub'));
  t.is(shown.status, 0);
  for (const said of [
    /Type: ssh-ed25519-cert-v01@openssh.com host certificate/,
    /Key ID: "host:media\.player:o-4"/,
    /Principals: \n +o-4\.player\.media\.sys-auth-server\.instanceid\.signet\.test\n +node-4\.example\.com\n/,
  ]) {
    t.regex(shown.output, said);
  }
  const { stdout } = await runSignet('identity', 'status', '--dir', at(), '--json');
  const { sshHostCertificate, renewAt } = JSON.parse(stdout);
  t.is(sshHostCertificate, at('ssh-host-cert.pub'));
  const minutes = ((parseTimestamp(renewAt) ?? 0) - systemClock.now()) / 60_000;
  t.true(minutes > 25 && minutes < 43, `the shorter life decides: ${minutes} minutes`);

  const before = readFileSync(at('ssh-host-cert.pub'), 'utf8');
  t.is((await once('--force', ...more)).status, 0);
  t.not(readFileSync(at('ssh-host-cert.pub'), 'utf8'), before);
  // Without the option the old certificate does not stay behind.
  t.is((await once('--force')).status, 0);
  t.false(existsSync(at('ssh-host-cert.pub')));
});

withKeygen('an operator gets a certificate over an SSH key, for granted logins only', async (t) => {
  const folder = temporaryFolder(t);
  const admin = await world.pki.identity('media.admin');
  const [cert, own] = [join(folder, 'admin.cert.pem'), join(folder, 'admin.key.pem')];
  writeFileSync(cert, admin.certificate);
  writeFileSync(own, admin.key);
  const { file: key } = makeSshKey(folder, 'id_ed25519', '-t', 'ed25519');
  const ssh = (...args: readonly string[]) =>
    runSignet('cert', 'ssh', ...server, '--cert', cert, '--key', own, ...args);

  const { status, stdout, stderr } = await ssh(key, '--login', 'deploy', '--json');
  t.deepEqual([status, stderr], [0, '']);
  const { certificate, serial, ...rest } = JSON.parse(stdout);
  t.like(rest, { keyId: 'user:media.admin', logins: ['deploy'] });
  t.is(certificate, `${key}-cert.pub`);
  const { output } = sshKeygen('-L', '-f', certificate);
  t.regex(output, /Type: ssh-ed25519-cert-v01@openssh.com user certificate/);
  t.true(output.includes(`Serial: ${serial}\n`), output);
  t.regex(output, /Principals: \n +deploy\n/);

  const refused = await ssh(`${key}.pub`, '--login', 'root');
  t.deepEqual(
    [refused.status, refused.stderr],
    [1, 'signet: the server answered 403: principal may not log in as `root`\n'],
  );
  const revoke = (...args: readonly string[]) =>
    runSignet('certificate', 'revoke-ssh', ...server, '--cert', cert, '--key', own, ...args);
  t.deepEqual((await revoke('--serial', serial, '--reason', 'superseded')).stdout, '1 revoked\n');
  t.deepEqual((await revoke()).stderr, 'signet: --serial or --key-id is required\n');
  const missing = await ssh(join(folder, 'nothing'), '--login', 'deploy');
  t.deepEqual([missing.status, missing.stderr], [2, `signet: \`${folder}/nothing.pub\` cannot be read\n`]);
});
