import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import { createSshAuthorityKey } from '@signet/server/certificates/ssh/authority';
import test, { type ExecutionContext } from 'ava';
import { instanceDomains, instanceWorld, json } from '#support/instance-world';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { type Finished, runProgram } from '#support/run-program';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const main = fileURLToPath(import.meta.resolve('@signet/server/main'));
const withKeygen = hasSshKeygen ? test : test.skip;

const [sysAuth, ...others] = instanceDomains;
const logins = {
  ...sysAuth,
  roles: {
    ...sysAuth.roles,
    'ssh-users': ['media.admin', 'prov.lazy'],
    launchers: ['sys.auth.server'],
    operators: ['sys.auth.operator'],
  },
  policies: {
    ...sysAuth.policies,
    logins: [['ALLOW', 'ssh-users', 'ssh_login', 'ssh.deploy']],
    revocation: [['ALLOW', 'operators', 'revoke', 'ssh']],
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

const world = await instanceWorld(file, {
  domains: [logins, ...others],
  options: {
    'ssh.hostAuthority': authorityKey('host.pem'),
    'ssh.userAuthority': authorityKey('user.pem'),
    'ssh.hostExpirySeconds': 3600,
  },
});
test.after.always(() => file.end());

const signet = (...args: readonly string[]) =>
  runProgram(process.execPath, ['--conditions=@signet/source', main, ...args]);
const server = ['--url', world.baseUrl, '--ca', join(world.folder, 'bundle.pem')];

/** An instance of `media.player` with a folder of its own and a token to register with. */
async function instance(t: ExecutionContext, id: string) {
  const folder = temporaryFolder(t);
  const at = (...parts: string[]) => join(folder, 'identity', ...parts);
  const token = join(folder, 'token');
  writeFileSync(token, await world.token(id));
  const own = ['--name', 'media.player', '--instance-id', id, '--dir', at(), '--trust-domain', 'signet.test'];
  const step = (command: string, ...more: readonly string[]): Promise<Finished> =>
    signet('identity', command, ...server, ...own, ...more, '--json');
  return { folder, at, token, step };
}

test('host name and address are asked for, and the hook runs after each new certificate', async (t) => {
  const { folder, at, token, step } = await instance(t, 'o-1');
  const log = join(folder, 'hook.log');
  const more = ['--attestation', token, '--host-name', 'node-1.example.com', '--address', '127.0.0.1'];
  const hook = ['--on-renew', `openssl x509 -in "$SIGNET_CERTIFICATE" -noout -ext subjectAltName >> '${log}'`];
  const first = await step('once', ...more, ...hook);
  t.deepEqual([first.status, first.stderr], [0, '']);
  t.regex(
    readFileSync(log, 'utf8'),
    /DNS:o-1\.instanceid\.signet\.test, DNS:node-1\.example\.com, IP Address:127\.0\.0\.1/,
  );
  t.false(existsSync(at('ssh-host-cert.pub')));

  t.like(JSON.parse((await step('once', ...more, ...hook)).stdout), { outcome: 'current' });
  t.is(readFileSync(log, 'utf8').match(/DNS:node-1/g)?.length, 1, 'nothing new, no hook');

  const failed = await step('once', '--force', ...more, '--on-renew', 'echo shown; exit 3');
  t.deepEqual([failed.status, failed.stderr], [1, 'shown\n']);
  t.like(JSON.parse(failed.stdout), { outcome: 'refreshed', problem: 'the command of --on-renew ended with status 3' });
});

test('a command may attest the instance; what it says when it fails is not mistaken for that', async (t) => {
  const { token, step } = await instance(t, 'o-2');
  for (const [command, error] of [
    ['exit 4', 'the command that attests the instance ended with status 4'],
    ['true', 'the command that attests the instance printed nothing'],
    ['echo signet-join-wrong', 'attestationData is no valid join token for this instance'],
  ] as const) {
    const { status, stdout } = await step('once', '--attestation-command', command);
    t.deepEqual([status, JSON.parse(stdout).outcome, JSON.parse(stdout).error], [1, 'failed', error]);
  }
  const { status, stdout } = await step('once', '--attestation-command', `cat '${token}'`);
  t.deepEqual([status, JSON.parse(stdout).outcome], [0, 'registered']);
});

test('status tells when the next renewal is due, as the agent does', async (t) => {
  const { at, token, step } = await instance(t, 'o-3');
  const { nextAt } = JSON.parse((await step('once', '--attestation', token)).stdout);
  const { stdout } = await signet('identity', 'status', '--dir', at(), '--json');
  const { state, renewAt, notAfter } = JSON.parse(stdout);
  t.is(state, 'valid');
  t.true(renewAt < notAfter);
  const apart = Math.abs((parseTimestamp(renewAt) ?? 0) - (parseTimestamp(nextAt) ?? 1e12));
  t.true(apart <= 2000, `${renewAt} is not ${nextAt}`);
});

withKeygen('a host gets its SSH certificate beside, with the names of its certificate', async (t) => {
  const { folder, at, token, step } = await instance(t, 'o-4');
  const { file: key } = makeSshKey(folder, 'ssh_host_ed25519_key', '-t', 'ed25519');
  const wrong = await step('once', '--attestation', token, '--ssh-host-key', key);
  t.like(JSON.parse(wrong.stdout), { outcome: 'failed', error: 'sshHostKey is a private key, not the public one' });

  const more = ['--attestation', token, '--host-name', 'node-4.example.com', '--ssh-host-key', `${key}.pub`];
  const first = await step('once', ...more);
  t.is(first.status, 0, first.stdout + first.stderr);
  t.is(statSync(at('ssh-host-cert.pub')).mode & 0o777, 0o644);
  const shown = sshKeygen('-L', '-f', at('ssh-host-cert.pub'));
  t.is(shown.status, 0);
  for (const said of [
    /Type: ssh-ed25519-cert-v01@openssh.com host certificate/,
    /Key ID: "host:media\.player:o-4"/,
    /Principals: \n +o-4\.instanceid\.signet\.test\n +node-4\.example\.com\n/,
  ]) {
    t.regex(shown.output, said);
  }
  const { stdout } = await signet('identity', 'status', '--dir', at(), '--json');
  const { sshHostCertificate, renewAt } = JSON.parse(stdout);
  t.is(sshHostCertificate, at('ssh-host-cert.pub'));
  const minutes = ((parseTimestamp(renewAt) ?? 0) - systemClock.now()) / 60_000;
  t.true(minutes > 25 && minutes < 43, `the shorter life decides: ${minutes} minutes`);

  const before = readFileSync(at('ssh-host-cert.pub'), 'utf8');
  t.is((await step('once', '--force', ...more)).status, 0);
  t.not(readFileSync(at('ssh-host-cert.pub'), 'utf8'), before);
  // Without the option the old certificate does not stay behind.
  t.is((await step('once', '--force')).status, 0);
  t.false(existsSync(at('ssh-host-cert.pub')));
});

withKeygen('an operator gets a certificate over an SSH key, for granted logins only', async (t) => {
  const folder = temporaryFolder(t);
  const admin = await world.pki.identity('media.admin');
  const [cert, own] = [join(folder, 'admin.cert.pem'), join(folder, 'admin.key.pem')];
  writeFileSync(cert, admin.certificate);
  writeFileSync(own, admin.key);
  const { file: key } = makeSshKey(folder, 'id_ed25519', '-t', 'ed25519');
  const ssh = (...args: readonly string[]) => signet('cert', 'ssh', ...server, '--cert', cert, '--key', own, ...args);

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
  const missing = await ssh(join(folder, 'nothing'), '--login', 'deploy');
  t.deepEqual([missing.status, missing.stderr], [2, `signet: \`${folder}/nothing.pub\` cannot be read\n`]);
});

withKeygen(
  'an SSH certificate is revoked by its owner or an operator, by serial number or key id, and nobody else',
  async (t) => {
    const folder = temporaryFolder(t);
    const as = async (name: string) => {
      const { certificate, key } = await world.pki.identity(name);
      const files = [join(folder, `${name}.cert.pem`), join(folder, `${name}.key.pem`)] as const;
      writeFileSync(files[0], certificate);
      writeFileSync(files[1], key);
      return [...server, '--cert', files[0], '--key', files[1]];
    };
    const [owner, operator, guest] = [await as('prov.lazy'), await as('sys.auth.operator'), await as('media.studio')];
    const certify = async (name: string) => {
      const { file: key } = makeSshKey(folder, name, '-t', 'ed25519');
      const { stdout } = await signet('cert', 'ssh', ...owner, key, '--login', 'deploy', '--json');
      return { certificate: `${key}-cert.pub`, serial: String(JSON.parse(stdout).serial) };
    };
    const issued = [await certify('k-1'), await certify('k-2'), await certify('k-3')];
    const revoke = async (who: readonly string[], ...what: readonly string[]) => {
      const { status, stdout, stderr } = await signet('certificate', 'revoke-ssh', ...who, ...what);
      return [status, `${stdout}${stderr}`.trim()];
    };
    const krl = join(folder, 'krl');
    const revoked = async () => {
      const { body } = await fetchRaw(await world.pki.identity('media.player'), '/sshcert/krl');
      writeFileSync(krl, body);
      return issued.map(({ certificate }) => sshKeygen('-Q', '-f', krl, certificate).status === 1);
    };
    t.deepEqual(await revoked(), [false, false, false]);

    const [first, second] = issued;
    const refused = 'signet: the server answered 403: an SSH certificate is revoked by its owner or an operator';
    t.deepEqual(await revoke(guest, '--serial', first?.serial ?? ''), [1, refused]);
    t.deepEqual(await revoke(guest, '--key-id', 'user:prov.lazy'), [1, refused]);
    t.deepEqual(await revoked(), [false, false, false]);

    t.deepEqual(await revoke(owner, '--serial', first?.serial ?? '', '--reason', 'key-compromise'), [0, '1 revoked']);
    t.deepEqual(await revoked(), [true, false, false]);
    t.deepEqual(await revoke(operator, '--serial', second?.serial ?? ''), [0, '1 revoked']);
    t.deepEqual(await revoke(operator, '--key-id', 'user:prov.lazy'), [0, '1 revoked']);
    t.deepEqual(await revoked(), [true, true, true]);
    const none = 'signet: the server answered 404: there is no such SSH certificate in force';
    t.deepEqual(await revoke(operator, '--key-id', 'user:prov.lazy'), [1, none]);
    t.deepEqual(await revoke(owner, '--serial', '1'), [1, none]);
    t.deepEqual(await revoke(owner), [2, 'signet: give --serial or --key-id']);
    const records = await world.store.audit({ limit: 3 });
    t.deepEqual(
      records.map(({ action, actor, reason }) => [action, actor, reason]),
      [
        ['revoke-certificate', 'sys.auth.operator', 'unspecified'],
        ['revoke-certificate', 'sys.auth.operator', 'unspecified'],
        ['revoke-certificate', 'prov.lazy', 'key-compromise'],
      ],
    );
  },
);

for (const [name, body, message] of [
  ['nothing', {}, 'the body must have either `serial` or `keyId`'],
  ['both', { serial: '1', keyId: 'user:a.b' }, 'the body must have either `serial` or `keyId`'],
  ['a number', { serial: 1 }, 'serial is not as it must be: `serial` or `keyId`, and `reason`'],
  ['hexadecimal', { serial: '0x1f' }, 'serial is not as it must be: `serial` or `keyId`, and `reason`'],
  [
    'a member that is not known',
    { serial: '1', all: true },
    'the body is not as it must be: `serial` or `keyId`, and `reason`',
  ],
  ['another reason', { serial: '1', reason: 'fun' }, 'reason is not as it must be: `serial` or `keyId`, and `reason`'],
] as const) {
  test(`POST /sshcert/revoke with ${name} is refused`, async (t) => {
    const call = await world.identity('media.admin');
    t.deepEqual((await call('/sshcert/revoke', json(body))).body, { code: 400, message });
  });
}

/** The bytes of an answer. */
function fetchRaw(who: { certificate: string; key: string }, path: string): Promise<{ body: Buffer }> {
  return new Promise((resolve, reject) => {
    const options = { cert: who.certificate, key: who.key, ca: world.pki.bundle, agent: false } as const;
    request(`${world.baseUrl}${path}`, options, (answer) => {
      buffer(answer).then((body) => resolve({ body }), reject);
    })
      .on('error', reject)
      .end();
  });
}
