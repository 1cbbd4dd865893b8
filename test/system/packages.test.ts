import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { findOldNode } from '#support/old-node';
import { postgresPrograms } from '#support/postgres';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* Release: the packed packages, installed by npm in every layout that a reader can choose, and the guides run with the installed programs. */

const rooms = ['policy-engine', 'client', 'updater', 'server', 'example-provider'] as const;
const programs = {
  server: 'signet',
  updater: 'signet-updater',
  'example-provider': 'signet-example-provider',
} as const;

const work = mkdtempSync(join(tmpdir(), 'signet-test-'));
const tarballs = join(work, 'packed');
const packScript = join(repository, 'deploy', 'release', 'pack.js');
const packing = await runProgram(process.execPath, [packScript, 'packed'], { cwd: work });
test.after.always(() => rmSync(work, { recursive: true }));

const tarball = (room: string) => join(tarballs, `signet-${room}-0.2.0.tgz`);
const programTarballs = Object.keys(programs).map(tarball);

/** npm as a person runs it, with a registry for the names of Signet that answers nothing, and a cache of the tests' own. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry)/i.test(name))),
  npm_config_cache: join(work, 'cache'),
  'npm_config_@signet:registry': 'https://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
};
const quiet = ['--no-audit', '--no-fund', '--silent'];

async function npm(t: ExecutionContext, program: readonly string[], args: readonly string[], cwd = work) {
  const [file = '', ...first] = program;
  const { status, stdout, stderr } = await runProgram(file, [...first, ...args, ...quiet], { cwd, env: environment });
  t.is(status, 0, `${stdout}${stderr}`);
}

/** Imports each dependency of the package in the folder as its modules do, and prints the names of those that fail. */
const importDependencies = `
import { readFileSync } from 'node:fs';
const { dependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'));
// @peculiar/x509 requires it to be imported first.
if ('reflect-metadata' in dependencies) await import('reflect-metadata');
for (const name of Object.keys(dependencies)) await import(name).catch((error) => console.log(name, error.message));
`;

async function assertComplete(t: ExecutionContext, packages: string, installed: readonly string[]) {
  for (const room of installed) {
    const cwd = join(packages, '@signet', room);
    const script = ['--input-type=module', '--eval', importDependencies];
    t.deepEqual(await runProgram(process.execPath, script, { cwd }), { status: 0, stdout: '', stderr: '' }, room);
    t.false(
      existsSync(join(cwd, 'node_modules', '@signet')),
      'packages of Signet contain each other in their own files',
    );
  }
}

/** The command of another npm, installed into a folder of its own. */
async function otherNpm(t: ExecutionContext, version: string): Promise<string[]> {
  const folder = join(work, `npm-${version}`);
  await npm(t, ['npm'], ['install', '--prefix', folder, `npm@${version}`]);
  return [process.execPath, join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js')];
}

test.before('packing takes a folder that is relative, prints what npm says, and names the files', (t) => {
  t.is(packing.status, 0, packing.stderr);
  t.deepEqual(packing.stdout.trim().split('\n').toSorted(), readdirSync(tarballs).toSorted());
  t.deepEqual(
    rooms.filter((room) => !existsSync(tarball(room))),
    [],
  );
  for (const room of rooms) t.regex(packing.stderr, new RegExp(`> @signet/${room}@0\\.2\\.0 prepack`));
});

test('packing names the Node that it needs, and its usage', async (t) => {
  const usage = await runProgram(process.execPath, [packScript]);
  t.deepEqual(usage, { status: 2, stdout: '', stderr: 'usage: node deploy/release/pack.js FOLDER\n' });
  const old = await findOldNode();
  if (old === undefined) return t.log('skipped: there is no older Node on this machine');
  const { status, stderr } = await runProgram(old, [packScript, 'never'], { cwd: work });
  t.is(status, 2);
  t.regex(
    stderr,
    /^packing needs Node\.js 24 or newer, this is .*: install it, or use `npx node deploy\/release\/pack\.js/,
  );
  t.false(existsSync(join(work, 'never')));
});

/** `npm install --global --prefix` of the programs, by npm 10 from the registry, then by npm 11 from the cache that the first one filled. */
const prefix = join(work, 'opt-signet');

test.serial(
  'npm 10 and 11 install complete programs with --global, from the registry and from the cache alone',
  async (t) => {
    t.timeout(600_000);
    const global = ['install', '--global', ...programTarballs, '--prefix'];
    const offline = join(work, 'offline');
    await npm(t, await otherNpm(t, '10'), [...global, prefix]);
    await npm(t, await otherNpm(t, '11'), [...global, offline, '--offline']);
    for (const folder of [prefix, offline]) {
      await assertComplete(t, join(folder, 'lib', 'node_modules'), Object.keys(programs));
      for (const program of Object.values(programs)) {
        t.is((await runProgram(join(folder, 'bin', program), ['--help'], { cwd: work })).status, 0, program);
      }
    }
    const old = await findOldNode();
    if (old === undefined) return t.log('skipped: there is no older Node on this machine');
    for (const name of Object.values(programs)) {
      const { status, stderr } = await runProgram(old, [join(prefix, 'bin', name), '--help'], { cwd: work });
      t.is(status, 2, name);
      t.regex(stderr, new RegExp(`^${name} needs Node\\.js 24 or newer, this is .*\\n$`));
    }
  },
);

test('the guide to production, log-in and completion run with installed programs', async (t) => {
  t.timeout(600_000);
  const files = [
    'server/cli/completion.test.ts',
    'server/people/login-cli.test.ts',
    ...(postgresPrograms === undefined ? [] : ['system/servers/production-guide.test.ts']),
  ];
  const env = { ...process.env, SIGNET_TEST_PREFIX: prefix };
  const ava = join(repository, 'node_modules', '.bin', 'ava');
  const { status, stdout, stderr } = await runProgram(ava, files, { cwd: join(repository, 'test'), env });
  t.is(status, 0, `${stdout}${stderr}`);
  t.log(stdout.trim().split('\n').at(-1)?.trim());
});

const decideInMemory = `
import { PolicyEngine } from '@signet/policy-engine';
const rules = [{ effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' }];
await using engine = PolicyEngine.fromDomains({ catalog: [{ name: 'samples', assertions: rules }] });
for (const action of ['read', 'write']) {
  console.log(engine.decideRoles({ domain: 'catalog', roles: ['reader'], action, resource: 'catalog:movie' }).status);
}`;

const failToConnect = `
import { createClient, SignetClientError } from '@signet/client';
try {
  createClient({ baseUrl: 'https://localhost:1/v1', certificate: 'none.pem', key: 'none.pem', caBundle: 'none.pem' });
} catch (error) {
  console.log(error instanceof SignetClientError, error.code);
}`;

const embedTyped = `
import { createClient, type SignetClient } from '@signet/client';
import { requireGrant } from '@signet/client/koa';
import { PolicyEngine } from '@signet/policy-engine';
export const client: (options: Parameters<typeof createClient>[0]) => SignetClient = createClient;
export const made: [typeof requireGrant, typeof PolicyEngine] = [requireGrant, PolicyEngine];`;

test('client and engine work in a project, in JavaScript and in TypeScript', async (t) => {
  t.timeout(180_000);
  const project = join(work, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "scratch", "private": true, "type": "module" }\n');
  await npm(t, ['npm'], ['install', tarball('client'), tarball('policy-engine')], project);
  await assertComplete(t, join(project, 'node_modules'), ['client', 'policy-engine']);
  const run = (name: string, text: string) => {
    writeFileSync(join(project, name), text);
    return runProgram(process.execPath, [name], { cwd: project });
  };
  t.deepEqual(await run('decide.js', decideInMemory), { status: 0, stdout: 'ALLOW\nDENY_NO_MATCH\n', stderr: '' });
  const failed = { status: 0, stdout: 'true invalid-identity\n', stderr: '' };
  t.deepEqual(await run('connect.js', failToConnect), failed);
  writeFileSync(join(project, 'embed.ts'), embedTyped);
  const bin = join(repository, 'node_modules', '.bin', 'tsc');
  const types = ['--typeRoots', join(repository, 'node_modules', '@types'), '--types', 'node'];
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', ...types, 'embed.ts'];
  t.deepEqual(await runProgram(bin, options, { cwd: project }), { status: 0, stdout: '', stderr: '' });
});

test('programs in a project have no inside for others', async (t) => {
  t.timeout(180_000);
  const project = join(work, 'programs');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "scratch", "private": true, "type": "module" }\n');
  await npm(t, ['npm'], ['install', ...programTarballs], project);
  await assertComplete(t, join(project, 'node_modules'), Object.keys(programs));
  for (const inside of ['@signet/server/compose/compose', '@signet/updater/updater', '@signet/example-provider/app']) {
    writeFileSync(join(project, 'inside.js'), `await import('${inside}').catch(({ code }) => console.log(code));`);
    const tried = await runProgram(process.execPath, ['inside.js'], { cwd: project });
    t.deepEqual(tried, { status: 0, stdout: 'ERR_PACKAGE_PATH_NOT_EXPORTED\n', stderr: '' }, inside);
  }
});

for (const room of rooms) {
  test(`${room} ships what is built, and nothing else`, async (t) => {
    const { stdout } = await runProgram('tar', ['-tzf', tarball(room)]);
    const allowed =
      /^package\/((joined|bin|policies|schemas)\/.+|package\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md)$/;
    t.deepEqual(
      stdout.split('\n').filter((path) => path !== '' && (!allowed.test(path) || /\.map$|tsbuildinfo/.test(path))),
      [],
    );
  });
}

test('what the server contains of others is said with version and licence, and every import is a dependency', async (t) => {
  const folder = temporaryFolder(t);
  for (const room of rooms) {
    mkdirSync(join(folder, room));
    await runProgram('tar', ['-xzf', tarball(room), '-C', join(folder, room), '--strip-components=1']);
    const { dependencies } = JSON.parse(readFileSync(join(folder, room, 'package.json'), 'utf8'));
    t.deepEqual(
      Object.keys(dependencies).filter((name) => name.startsWith('@signet/')),
      [],
    );
    const licences = join(folder, room, 'joined', 'THIRD-PARTY-LICENSES.txt');
    t.is(existsSync(licences), room === 'server');
  }
  const text = readFileSync(join(folder, 'server', 'joined', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['jose', 'kysely']) {
    const manifest = join(repository, 'node_modules', name, 'package.json');
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
    t.true(text.includes(`${name} ${version}\n\n`), name);
    t.true(
      text.includes(readFileSync(join(dirname(manifest), name === 'jose' ? 'LICENSE.md' : 'LICENSE'), 'utf8')),
      name,
    );
  }
});
