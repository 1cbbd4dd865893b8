import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { startDevWorld } from '#support/dev-world';
import { makeSshKey } from '#support/openssh';
import { runProgram } from '#support/run-program';
import { hasSshd, logIn, login, startSshd } from '#support/sshd';
import { until } from '#support/until';

const withSshd = hasSshd ? test : test.skip;
if (!hasSshd) test('OpenSSH is not installed here: what needs a real sshd is skipped', (t) => t.pass());

withSshd(
  'with the commands alone: a host gets its certificate, an operator logs in with one, and is out when it is revoked',
  async (t) => {
    t.timeout(120_000);
    const world = await startDevWorld();
    t.teardown(() => world.remove());
    const folder = join(world.folder, '..', 'ssh');
    mkdirSync(folder);
    const at = (name: string) => join(folder, name);
    const operator = ['--data', world.folder, '--as', 'sys.auth.operator'];
    const must = async (...args: readonly string[]) => {
      const { status, stdout, stderr } = await world.signet(...args);
      t.is(status, 0, stderr);
      return stdout;
    };
    writeFileSync(at('token'), await must('instance', 'token', 'media.studio', 'ssh-1', ...operator));
    const { file: hostKey } = makeSshKey(folder, 'ssh_host_ed25519_key', '-t', 'ed25519');
    const instance = [
      '--name',
      'media.studio',
      '--instance-id',
      'ssh-1',
      '--attestation',
      at('token'),
      '--dir',
      at('host'),
    ];
    await must('identity', 'once', '--data', world.folder, ...instance, '--ssh-host-key', `${hostKey}.pub`);

    const krl = async () => {
      const { cert = '', key = '' } = world.state.identities['media.guest'] ?? {};
      const files = ['--cert', cert, '--key', key, '--cacert', world.state.caBundle];
      const out = ['--silent', '--fail', '--output', at('revoked')];
      t.is((await runProgram('curl', [...files, ...out, `${world.state.baseUrl}/sshcert/krl`])).status, 0);
    };
    await krl();
    const ca = (name: string) => join(world.folder, 'ca', name);
    const { port, log } = await startSshd(t, {
      folder,
      hostKey,
      hostCertificate: at('host/ssh-host-cert.pub'),
      trusted: ca('ssh-trusted-user-keys'),
      revoked: at('revoked'),
      principals: [login],
    });
    const { file: key } = makeSshKey(folder, 'id_ed25519', '-t', 'ed25519');
    const host = 'ssh-1.studio.media.sys-auth-server.instanceid.signet.local';
    const visit = () => logIn({ port, key, knownHosts: ca('ssh-known-hosts'), host });
    t.is((await visit()).printed, '', 'the key alone is not enough');

    await must('cert', 'ssh', key, '--login', login, ...operator);
    t.deepEqual(await visit(), { printed: 'let in\n', said: '' });
    await until('sshd says who came', () => /Accepted publickey .* ID user:sys\.auth\.operator/.test(log()));

    await must('certificate', 'revoke-ssh', '--key-id', 'user:sys.auth.operator', ...operator);
    await krl();
    t.is((await visit()).printed, '');
    await until('sshd says why', () => log().includes('revoked by file'));
  },
);

test('users know the hosts of the sample world by the names that it grants them', async (t) => {
  t.timeout(120_000);
  const first = await startDevWorld();
  t.teardown(() => first.remove());
  const folder = join(first.folder, '..', 'hosts');
  mkdirSync(folder);
  const at = (name: string) => join(folder, name);
  const known = join(first.folder, 'ca', 'ssh-known-hosts');
  const isKnown = async (name: string) => (await runProgram('ssh-keygen', ['-F', name, '-f', known])).status === 0;
  const token = ['instance', 'token', 'catalog.api', 'ssh-2', '--data', first.folder, '--as', 'sys.auth.operator'];
  writeFileSync(at('token'), (await first.signet(...token)).stdout);
  const { file: hostKey } = makeSshKey(folder, 'ssh_host_ed25519_key', '-t', 'ed25519');
  const names = ['--name', 'catalog.api', '--instance-id', 'ssh-2', '--host-name', 'localhost'];
  const files = ['--attestation', at('token'), '--dir', at('host'), '--ssh-host-key', `${hostKey}.pub`];
  const made = await first.signet('identity', 'once', '--data', first.folder, ...names, ...files);
  t.is(made.status, 0, made.stderr);
  const shown = await runProgram('ssh-keygen', ['-L', '-f', at('host/ssh-host-cert.pub')]);
  const principals = /Principals:\s+([\s\S]*?)\s+Critical Options/.exec(shown.stdout)?.[1]?.split(/\s+/) ?? [];
  t.deepEqual(principals.toSorted(), ['localhost', 'ssh-2.api.catalog.sys-auth-server.instanceid.signet.local']);
  for (const name of principals) t.true(await isKnown(name), name);
  t.false(await isKnown('elsewhere.example'));

  // A folder that an earlier version has made, and one that its owner has changed.
  await first.stop();
  const line = readFileSync(known, 'utf8');
  const before = line.replace(',localhost', '');
  t.not(before, line);
  for (const [text, expected] of [
    [before, line],
    [`# mine\n${before}`, `# mine\n${before}`],
  ] as const) {
    writeFileSync(known, text);
    const again = await startDevWorld({ folder: first.folder });
    await again.stop();
    t.is(readFileSync(known, 'utf8'), expected);
  }
});
