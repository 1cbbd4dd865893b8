import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkConfig } from '@signet/server/cli/config/check-config';
import type { Finding } from '@signet/server/cli/doctor/finding';
import { initialise } from '@signet/server/cli/initialise';
import { loadConfig, type ServerConfig } from '@signet/server/config/config';
import test, { type ExecutionContext } from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { signetScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { runSignet } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

const made = mkdtempSync(join(tmpdir(), 'signet-check-'));
const [world, other] = [join(made, 'world'), join(made, 'other')];
const trustDomain = parseDomainName('signet.test');
for (const folder of [world, other]) {
  const hosts = { host: '127.0.0.1', port: 0, hosts: ['signet.example'] };
  await initialise({ folder, ...hosts, trustDomain, identities: [], actor: 'test' }, systemClock);
}
test.after.always(() => rmSync(made, { recursive: true }));

const now = systemClock.now();
const dayMs = 86_400_000;

function copyOfWorld(t: ExecutionContext, flags: Readonly<Record<string, unknown>> = {}): ServerConfig {
  const folder = join(temporaryFolder(t), 'world');
  cpSync(world, folder, { recursive: true });
  return loadConfig(join(folder, 'signet.yaml'), {}, flags);
}

const at = (config: ServerConfig, name: string) => join(config.file, '..', name);

/** Findings that need action, without the advice. */
function bad(findings: readonly Finding<string>[]): string[] {
  return findings.filter(({ state }) => state !== 'ok').map(({ check, state, found }) => `${state} ${check}: ${found}`);
}

test('a new installation is well, and everything that was looked at is named', async (t) => {
  const findings = await checkConfig(copyOfWorld(t), now);
  t.deepEqual(bad(findings), []);
  t.deepEqual(
    [...new Set(findings.map(({ check }) => check))],
    [
      'files',
      'tls.certificate',
      'tls.clientCa',
      'certificates.issuers.0.certificate',
      'crl.roots.0',
      'listen',
      'dataDir',
      'store',
    ],
  );
  t.false(findings.some(({ advice }) => advice !== undefined));
});

test('whatever is not well comes with what to do', async (t) => {
  const config = copyOfWorld(t, { baseUrl: 'https://elsewhere.example', 'listen.host': '192.0.2.1' });
  rmSync(config.dataDir, { recursive: true });
  const findings = (await checkConfig(config, now + 11 * 365 * dayMs)).filter(({ state }) => state !== 'ok');
  t.true(findings.length > 6);
  for (const { check, advice } of findings) t.truthy(advice, check);
});

test('a file that cannot be used fails, with its option', async (t) => {
  const config = copyOfWorld(t);
  cpSync(join(other, 'server.key.pem'), config.tls.key);
  t.deepEqual(bad(await checkConfig(config, now)), [
    'failed files: 1 of the files in the configuration are not usable',
    `failed tls.key: \`${config.tls.key}\` is not the private key of \`tls.certificate\``,
  ]);
});

test('the lives of certificates and lists: not yet, soon over, over', async (t) => {
  const config = copyOfWorld(t, { 'tls.renew': false });
  const name = `\`CN=sys.auth.server\` in \`${config.tls.certificate}\``;
  const early = bad(await checkConfig(config, now - 30 * dayMs));
  t.true(early.includes(`failed tls.certificate: ${name} is not valid before 29 days from now`), early.join('\n'));
  t.deepEqual(bad(await checkConfig(config, now + 361 * dayMs)), [
    `warning tls.certificate: ${name} is valid for 3 days`,
  ]);
  t.deepEqual(bad(await checkConfig(config, now + 367 * dayMs)), [
    `failed tls.certificate: ${name} expired 2 days ago`,
  ]);
  const renewed = copyOfWorld(t);
  t.like(bad(await checkConfig(renewed, now + 367 * dayMs)), { length: 1 });
  t.regex(
    bad(await checkConfig(renewed, now + 367 * dayMs))[0] ?? '',
    /^warning tls\.certificate: .* expired 2 days ago$/,
  );
  const late = bad(await checkConfig(config, now + 11 * 365 * dayMs)).map((line) => line.replace(/`.*/, ''));
  t.deepEqual(late, [
    'failed tls.certificate: ',
    'failed tls.certificate: ',
    'failed tls.clientCa: ',
    'failed certificates.issuers.0.certificate: ',
    'warning crl.roots.0: ',
  ]);
});

test('of several authorities an expired one is a warning', async (t) => {
  const config = copyOfWorld(t);
  const old = await makeCertificate({ name: 'old', isAuthority: true, now: now - 10 * dayMs });
  writeFileSync(config.tls.clientCa, `${readFileSync(config.tls.clientCa, 'utf8')}${old.pem}`);
  t.deepEqual(bad(await checkConfig(config, now)), [
    `warning tls.clientCa: \`CN=old\` in \`${config.tls.clientCa}\` expired 9 days ago`,
  ]);
});

test('the certificate names the host that clients call, by name and by address', async (t) => {
  for (const host of ['localhost', 'signet.example', '127.0.0.1', '[::1]']) {
    t.deepEqual(bad(await checkConfig(copyOfWorld(t, { baseUrl: `https://${host}/v1` }), now)), [], host);
  }
  for (const host of ['other.example', '192.0.2.7', '[2001:db8::1]']) {
    const [line, ...more] = bad(await checkConfig(copyOfWorld(t, { baseUrl: `https://${host}/v1` }), now));
    t.true(
      line?.includes(`does not name \`${host.replace(/[[\]]/g, '')}\`, the host that clients call, but URI:`),
      line,
    );
    t.deepEqual(more, []);
  }
});

test('the path of the base URL is compared with that of the profile', async (t) => {
  const baseUrl = 'https://localhost/zts/v1';
  t.deepEqual(bad(await checkConfig(copyOfWorld(t, { baseUrl }), now)), [
    'warning baseUrl: its path is `/zts/v1`, that of the profile `signet` is `/v1`',
  ]);
  t.deepEqual(bad(await checkConfig(copyOfWorld(t, { baseUrl, profile: 'athenz' }), now)), []);
});

test('an address that stands for all addresses is not one to call', async (t) => {
  const lines = bad(await checkConfig(copyOfWorld(t, { 'listen.host': '0.0.0.0' }), now));
  t.true(lines.includes('failed baseUrl: clients cannot connect to `0.0.0.0`'));
});

test('chains lead to the authorities that are configured', async (t) => {
  const config = copyOfWorld(t);
  cpSync(join(other, 'ca', 'bundle.pem'), at(config, 'ca/bundle.pem'));
  cpSync(join(other, 'ca', 'root.crl.pem'), at(config, 'ca/root.crl.pem'));
  const root = '`O=Signet, CN=Signet Root CA`|`CN=Signet Root CA, O=Signet`';
  const [ofServer = '', ofIssuer = '', ...more] = bad(await checkConfig(config, now));
  t.regex(ofServer, new RegExp(`^warning tls.certificate: no certificate for (${root}) is in its file`));
  t.regex(ofIssuer, new RegExp(`^failed certificates.issuers.0.certificate: no certificate for (${root}) is in `));
  t.deepEqual(more, []);
});

test('a certificate of a client is not one of a server', async (t) => {
  const config = copyOfWorld(t);
  const made = await makeCertificate({ name: 'client', now, usages: ['1.3.6.1.5.5.7.3.2'] });
  writeFileSync(config.tls.certificate, made.pem);
  writeFileSync(config.tls.key, made.key);
  const lines = bad(await checkConfig(config, now));
  t.true(lines.includes(`failed tls.certificate: \`${config.tls.certificate}\` is not for servers`), lines.join('\n'));
  t.true(lines.some((line) => line.endsWith('the host that clients call, but no host')));
});

test('a private key that others may open fails, one that its group may open is a warning', async (t) => {
  const config = copyOfWorld(t);
  chmodSync(config.tls.key, 0o644);
  chmodSync(at(config, 'ca/intermediate.key.pem'), 0o640);
  t.deepEqual(bad(await checkConfig(config, now)), [
    `failed tls.key: \`${config.tls.key}\` is readable by all users`,
    `warning certificates.issuers.0.key: \`${at(config, 'ca/intermediate.key.pem')}\` is readable by its group`,
  ]);
});

test('ports that are taken, and addresses of other machines', async (t) => {
  const holder = createServer();
  const port = await new Promise<number>((resolve) => {
    holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port));
  });
  t.teardown(() => holder.close());
  t.deepEqual(bad(await checkConfig(copyOfWorld(t, { 'crl.listen.port': port }), now)), [
    `warning crl.listen: port ${port} of \`127.0.0.1\` is in use`,
  ]);
  const away = bad(
    await checkConfig(copyOfWorld(t, { 'listen.host': '192.0.2.1', baseUrl: 'https://localhost/v1' }), now),
  );
  t.deepEqual(away, ['failed listen: port 0 of `192.0.2.1` cannot be used (EADDRNOTAVAIL)']);
});

test('a store that is not there yet is a warning, one that is none fails', async (t) => {
  const config = copyOfWorld(t);
  rmSync(config.dataDir, { recursive: true });
  const file = join(config.dataDir, 'signet.db');
  t.deepEqual(bad(await checkConfig(config, now)), [`warning store: store \`${file}\` does not exist yet`]);
  const broken = copyOfWorld(t);
  const ofBroken = join(broken.dataDir, 'signet.db');
  writeFileSync(ofBroken, 'no database at all, but a text of some length', { mode: 0o600 });
  t.deepEqual(bad(await checkConfig(broken, now)), [`failed store: store \`${ofBroken}\` is not a SQLite database`]);
  writeFileSync(at(config, 'file'), '');
  const odd = loadConfig(config.file, {}, { dataDir: 'file' });
  t.true(bad(await checkConfig(odd, now)).includes(`failed dataDir: \`${at(config, 'file')}\` is not a folder`));
});

test('nothing is changed and nothing is made', async (t) => {
  const config = copyOfWorld(t);
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  const state = () =>
    readdirSync(join(config.file, '..'), { recursive: true, encoding: 'utf8' })
      // What SQLite needs to read beside a server; it is empty.
      .filter((name) => !/-(?:shm|wal)$/.test(name))
      .sort()
      .map((name) => `${name} ${statSync(at(config, name)).isFile() ? digest(at(config, name)) : ''}`);
  const before = state();
  await checkConfig(config, now);
  t.deepEqual(state(), before);
  const missing = loadConfig(config.file, {}, { dataDir: 'nowhere/below' });
  await checkConfig(missing, now);
  t.deepEqual(state(), before);
});

test('the commands: findings with status 1 when one failed, values in force, and a start that names option and file', async (t) => {
  const config = copyOfWorld(t);
  const signet = (...args: string[]) => runSignet('--config', config.file, ...args);
  const serve = () => runProgram(process.execPath, [signetScript, '--config', config.file, 'serve']);
  const [shown, fine] = await Promise.all([signet('config', 'show', '--json'), signet('config', 'check')]);
  t.like(fine, { status: 0, stderr: '' });
  t.regex(fine.stdout, /^ok {7}files: all files in the configuration are usable\n/);
  const values: { option: string }[] = JSON.parse(shown.stdout);
  t.deepEqual(values.find(({ option }) => option === 'tls.key') as unknown, {
    option: 'tls.key',
    value: config.tls.key,
    from: 'file',
  });
  rmSync(config.tls.key);
  const [failed, served] = await Promise.all([signet('config', 'check', '--json'), serve()]);
  t.like(failed, { status: 1, stderr: '' });
  const problem = `\`${config.tls.key}\` cannot be read: it does not exist`;
  t.like(JSON.parse(failed.stdout), {
    findings: [
      { check: 'files', state: 'failed' },
      { check: 'tls.key', state: 'failed', found: problem },
    ],
  });
  t.is(served.status, 78);
  const lines = served.stderr.split('\n').filter((line) => line.startsWith('signet: '));
  t.deepEqual(lines, [`signet: configuration \`${config.file}\` cannot be used: tls.key: ${problem}`]);
});
