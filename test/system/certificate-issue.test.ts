import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { localActor } from '@signet/server/cli/local-user';
import test from 'ava';
import { signetScript } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* The way back in: the first administrator has lost the only certificate there was, and a server goes on meanwhile. */

test('a certificate is made on the machine of the server, counts, is in the audit log and can be revoked', async (t) => {
  t.timeout(180_000);
  const folder = temporaryFolder(t);
  const { SIGNET_CONFIG: _, ...env } = process.env;
  const signet = (...args: readonly string[]) =>
    runProgram(process.execPath, [signetScript, ...args], { cwd: folder, env });
  const local = (...args: readonly string[]) => signet(...args, '--config', 'server/signet.yaml');
  const made = await signet('init', 'server', '--operator', 'user.jane', '--port', String(await freePort()));
  t.is(made.status, 0, made.stderr);
  rmSync(join(folder, 'server/identities'), { recursive: true });

  const serve = [signetScript, 'serve', '--config', 'server/signet.yaml'];
  const child = spawn(process.execPath, serve, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);

  const issue = ['certificate', 'issue', 'user.jane', '--out', 'jane', '--json'];
  const issued = await local(...issue);
  t.deepEqual([issued.status, issued.stderr], [0, '']);
  const at = (name: string) => join(folder, 'jane', name);
  t.like(JSON.parse(issued.stdout), { principal: 'user.jane', key: at('key.pem'), config: at('client.yaml') });
  t.is(statSync(at('key.pem')).mode & 0o777, 0o600);
  const { validFromDate, validToDate, serialNumber } = new X509Certificate(readFileSync(at('cert.pem')));
  t.is(Math.floor((validToDate.getTime() - validFromDate.getTime()) / 86_400_000), 7);
  const asked = () => signet('domain', 'list', '--config', 'jane/client.yaml');
  t.deepEqual(await asked(), { status: 0, stdout: 'sys.auth\n', stderr: '' } as never);

  const again = await local(...issue);
  t.is(again.status, 1);
  t.regex(again.stderr, /cert\.pem` exists: use `--force` to write over it/);
  const [record] = JSON.parse((await local('audit', 'list', '--subject', 'user.jane', '--json')).stdout);
  t.like(record, { actor: localActor(), action: 'issue-certificate', subject: 'user.jane' });

  for (const name of ['sys.auth.server', 'films.api']) {
    const refused = await local('certificate', 'issue', name, '--out', 'other');
    t.is(refused.status, 2);
    t.regex(refused.stderr, /^signet: principal must be a user \(`user\.jane`\) or a service of `sys\.auth`/);
  }

  const missing = await local('certificate', 'issue', 'sys.auth.operator', '--out', 'other');
  t.is(missing.status, 1);
  t.regex(missing.stderr, /^signet: `sys\.auth\.operator` is not an enabled service of `sys\.auth`/);
  t.deepEqual(JSON.parse((await local('audit', 'list', '--subject', 'sys.auth.operator', '--json')).stdout), []);
  const another = await local('certificate', 'issue', 'user.joe', '--days', '31', '--out', 'joe', '--json');
  t.is(another.status, 0, another.stderr);
  t.deepEqual(another.stderr.split('\n').slice(0, -1), [
    `signet: warning: it expires at ${JSON.parse(another.stdout).notAfter}: the server does not allow a lifetime of 31 days`,
    'signet: warning: `user.joe` has no role in `sys.auth`: add it to `admin` in that domain document and run `signet apply`',
  ]);

  const revoked = await local('certificate', 'revoke', serialNumber);
  t.is(revoked.status, 0, revoked.stderr);
  await until('it is refused', async () => (await asked()).status === 1);
});
