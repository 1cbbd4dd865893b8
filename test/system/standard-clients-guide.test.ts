import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type DevWorld, repository, startDevWorld } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { runProgram } from '#support/run-program';
import { until } from '#support/until';

/* The examples of docs/guides/standard-clients.md as they stand there, each in its language where that is installed. */

const guide = readFileSync(join(repository, 'docs/guides/standard-clients.md'), 'utf8');

/** The text of the one block that begins like this. */
function example(fence: string): string {
  const [found, ...others] = [...guide.matchAll(new RegExp(`^\`\`\`${fence}\\n(.*?)^\`\`\`$`, 'gms'))];
  if (found?.[1] === undefined || others.length > 0) throw new Error(`the guide has no one example in ${fence}`);
  return found[1];
}

let world: DevWorld;
let env: NodeJS.ProcessEnv;

test.before(async () => {
  world = await startDevWorld();
  env = environmentOf('media.player');
});

test.after.always(() => world?.remove());

function environmentOf(name: string): NodeJS.ProcessEnv {
  const { baseUrl, caBundle, identities } = world.state;
  const { cert, key } = identities[name] ?? {};
  return { ...process.env, SIGNET_URL: baseUrl, SIGNET_CA: caBundle, SIGNET_CERT: cert, SIGNET_KEY: key };
}

async function works(program: string, ...args: readonly string[]): Promise<boolean> {
  return (await runProgram(program, args).catch(() => undefined))?.status === 0;
}

function temporary(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signet-clients-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program in a folder and answers what it printed. */
async function printed(t: ExecutionContext, cwd: string, program: string, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram(program, args, { cwd, env });
  t.is(status, 0, stderr);
  return stdout;
}

function skip(t: ExecutionContext, what: string): void {
  t.log(`${what} is not installed here: not tried`);
  t.pass();
}

test.serial('curl', async (t) => {
  if (!(await works('curl', '--version'))) return skip(t, 'curl');
  const answer = JSON.parse(await printed(t, temporary(t), 'bash', ['-euc', example('sh curl')]));
  t.like(answer, { token_type: 'Bearer', scope: 'catalog:role.reader' });
});

test.serial('Node.js', async (t) => {
  const args = ['--input-type=module', '--eval', example('js')];
  t.is(await printed(t, join(repository, 'test'), process.execPath, args), 'catalog:role.reader\nmedia.player\n');
});

test.serial('Python', async (t) => {
  for (const python of ['/usr/bin/python3', 'python3']) {
    if (!(await works(python, '-c', 'import jwt, requests, cryptography; jwt.PyJWKSet.__getitem__'))) continue;
    const said = await printed(t, temporary(t), python, ['-c', example('python')]);
    return t.is(said, 'catalog:role.reader\nmedia.player\n');
  }
  return skip(t, 'Python with requests and PyJWT');
});

test.serial('Go', async (t) => {
  t.timeout(300_000);
  if (!(await works('go', 'version'))) return skip(t, 'Go');
  const folder = temporary(t);
  writeFileSync(join(folder, 'token.go'), example('go'));
  env = { ...env, GOCACHE: join(folder, 'cache'), GOFLAGS: '-modcacherw', GOTOOLCHAIN: 'local' };
  t.is(await printed(t, folder, 'go', ['run', 'token.go']), 'catalog:role.reader\n');
});

test.serial('Java', async (t) => {
  t.timeout(300_000);
  if (!(await works('java', '-version')) || !(await works('openssl', 'version'))) return skip(t, 'Java or OpenSSL');
  const folder = temporary(t);
  writeFileSync(join(folder, 'Token.java'), example('java'));
  await printed(t, folder, 'bash', ['-euc', example('sh java')]);
  const answer = JSON.parse(await printed(t, folder, 'java', ['Token.java']));
  t.like(answer, { token_type: 'Bearer', scope: 'catalog:role.reader' });
});

test.serial('nginx', async (t) => {
  if (!(await works('nginx', '-v')) || !(await works('curl', '--version'))) return skip(t, 'nginx or curl');
  const folder = temporary(t);
  await printed(t, folder, 'bash', ['-euc', example('sh nginx')]);
  copyFileSync(world.state.caBundle, join(folder, 'roots.pem'));
  for (const kind of ['cert', 'key']) {
    copyFileSync(join(world.folder, `server.${kind}.pem`), join(folder, `service.${kind}.pem`));
  }
  const service = createServer((request, response) => response.end(String(request.headers['x-caller'])));
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.teardown(() => void service.close());
  const port = await freePort();
  const server = example('nginx')
    .replace('127.0.0.1:8443', `127.0.0.1:${port}`)
    .replace('127.0.0.1:8080', `127.0.0.1:${portOf(service)}`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  const around = `daemon off; pid nginx.pid; error_log stderr;\nevents {}\nhttp { access_log off; ${paths.join(' ')}\n`;
  writeFileSync(join(folder, 'nginx.conf'), `${around}${server}}\n`);
  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => ended(nginx));
  let errors = '';
  nginx.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ask = async (...as: readonly string[]) => {
    const url = `https://localhost:${port}/`;
    const said = ['--silent', '--cacert', world.state.caBundle, '--write-out', '%{http_code}', ...as, url];
    const { status, stdout } = await runProgram('curl', said);
    return status === 0 ? stdout : undefined;
  };
  await until(`nginx answers: ${errors}`, async () => (await ask()) !== undefined);
  const as = (name: string) => {
    const { cert = '', key = '' } = world.state.identities[name] ?? {};
    return ask('--cert', cert, '--key', key);
  };
  t.is(await as('media.player'), 'CN=media.player200');
  t.regex(String(await as('media.guest')), /403$/);
  t.regex(String(await ask()), /400$/);
  // After it was revoked, and the list was fetched again.
  const serial = await printed(t, folder, 'openssl', ['x509', '-in', env['SIGNET_CERT'] ?? '', '-noout', '-serial']);
  const revoke = [
    'certificate',
    'revoke',
    serial.trim().replace('serial=', ''),
    '--config',
    join(world.folder, 'signet.yaml'),
  ];
  const revoked = await world.signet(...revoke);
  t.is(revoked.status, 0, revoked.stderr);
  env = environmentOf('catalog.api');
  await until('the list names it', async () => {
    await printed(t, folder, 'bash', ['-euc', example('sh nginx')]);
    nginx.kill('SIGHUP');
    return String(await as('media.player')).endsWith('400');
  });
});

function portOf(server: { address(): unknown }): number {
  return Number(Object(server.address()).port);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
}
