import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { findOldNode } from '#support/old-node';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* What is shipped: the packed packages in a project of plain JavaScript, with nothing but Node. */

const packages = ['policy-engine', 'client', 'updater', 'server', 'example-provider'] as const;

const both = ['@signet/client', '@signet/policy-engine'];
/** Those of others that the server carries, each joined into few files. */
const joined = ['jose', 'kysely', 'yaml', 'zod'];
/** The packages in each. */
const carriedBy: Readonly<Record<(typeof packages)[number], readonly string[]>> = {
  'policy-engine': [],
  client: ['@signet/policy-engine'],
  updater: both,
  server: joined,
  'example-provider': both,
};

const tarballs = mkdtempSync(join(tmpdir(), 'signet-test-'));
const packing = await runProgram(process.execPath, [join(repository, 'deploy', 'release', 'pack.ts'), tarballs]);

test.after.always(() => rmSync(tarballs, { recursive: true }));

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

/** A project in which the packages are installed, and a way to run a program in it. Nobody answers for our names there. */
async function install(t: ExecutionContext, folder: string, tarballs: readonly string[]) {
  const project = join(folder, 'project');
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "name": "scratch", "private": true, "type": "module" }\n');
  writeFileSync(join(project, '.npmrc'), '@signet:registry=https://127.0.0.1:9/\nfetch-retries=0\n');
  const options = ['--no-audit', '--no-fund', '--silent'];
  const installed = await runProgram('npm', ['install', ...options, ...tarballs], { cwd: project });
  t.is(installed.status, 0, installed.stderr);
  const run = (name: string, text: string) => {
    writeFileSync(join(project, name), text);
    return runProgram(process.execPath, [name], { cwd: project });
  };
  return { project, run };
}

test('the packed packages work in a scratch project, and fetch nothing by a name of ours', async (t) => {
  t.timeout(180_000);
  const folder = temporaryFolder(t);
  t.is(packing.status, 0, packing.stderr);
  const files = (pattern: RegExp) =>
    readdirSync(tarballs)
      .filter((name) => pattern.test(name))
      .map((name) => join(tarballs, name));

  const embedding = await install(t, join(folder, 'embedding'), files(/client|policy-engine/));
  const allowed = { status: 0, stdout: 'ALLOW\nDENY_NO_MATCH\n', stderr: '' };
  t.deepEqual(await embedding.run('decide.js', decideInMemory), allowed);
  const failed = { status: 0, stdout: 'true invalid-identity\n', stderr: '' };
  t.deepEqual(await embedding.run('connect.js', failToConnect), failed);

  const { project, run } = await install(t, join(folder, 'programs'), files(/server|updater|example-provider/));

  // programs have no inside for others
  for (const inside of ['@signet/server/compose', '@signet/updater/updater', '@signet/example-provider/app']) {
    const tried = await run('inside.js', `await import('${inside}').catch(({ code }) => console.log(code));`);
    t.deepEqual(tried, { status: 0, stdout: 'ERR_PACKAGE_PATH_NOT_EXPORTED\n', stderr: '' }, inside);
  }

  const bin = (name: string) => join(project, 'node_modules', '.bin', name);
  const help = await runProgram(process.execPath, [bin('signet'), '--help'], { cwd: project });
  t.is(help.status, 0, help.stderr);
  t.regex(help.stdout, /^Usage: signet /);
  t.is((await runProgram(process.execPath, [bin('signet-updater'), '--help'], { cwd: project })).status, 0);
  const old = await findOldNode();
  if (old === undefined) t.log('skipped: there is no older Node on this machine');
  for (const name of old === undefined ? [] : ['signet', 'signet-updater', 'signet-example-provider']) {
    const { status, stderr } = await runProgram(old ?? '', [bin(name), '--help'], { cwd: project });
    t.is(status, 2, name);
    t.regex(stderr, new RegExp(`^${name} needs Node\\.js 24 or newer, this is .*\\n$`));
  }

  // and all of them together
  const world = await startDevWorld({ script: bin('signet') });
  t.teardown(() => world.remove());
  const form = 'grant_type=client_credentials&scope=catalog:domain';
  const answer = await world.curl('media.player', `${world.state.baseUrl}/oauth2/token`, '--data', form);
  const { access_token: token } = JSON.parse(answer.body);
  const bearer = ['-H', `Authorization: Bearer ${token}`];
  t.is((await world.curl('media.player', ...bearer, `${world.state.providerUrl}/movie`)).status, 200);
  t.is(await world.stop(), 0);
});

for (const name of packages) {
  test(`${name} ships what is built, the packages that it carries, and nothing else`, async (t) => {
    const tarball = readdirSync(tarballs).find((file) => new RegExp(`^signet-${name}-\\d`).test(file));
    const { stdout } = await runProgram('tar', ['-tzf', join(tarballs, tarball ?? '')]);
    const paths = stdout.trim().split('\n');
    const carried = paths.flatMap((path) => /^package\/node_modules\/(@?[^/]+(?:\/[^/]+)?)\//.exec(path)?.[1] ?? []);
    t.deepEqual([...new Set(carried)].toSorted(), carriedBy[name]);
    const own =
      /^package\/(node_modules\/@signet\/[\w-]+\/)?((dist|joined|bin|policies|schemas)\/.+|package\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md)$/;
    const ofOthers = /^package\/node_modules\/[a-z]+\/(package\.json|LICENSE(\.md)?|[\w-]+\.js)$/;
    t.deepEqual(
      paths.filter((path) => !(own.test(path) || ofOthers.test(path)) || /\.map$|tsbuildinfo/.test(path)),
      [],
    );
  });
}

test('what the server carries of others is what is installed here, with its licence', async (t) => {
  const folder = temporaryFolder(t);
  const tarball = readdirSync(tarballs).find((file) => /^signet-server-\d/.test(file));
  await runProgram('tar', ['-xzf', join(tarballs, tarball ?? ''), '-C', folder]);
  for (const name of joined) {
    const carried = join(folder, 'package', 'node_modules', name);
    const installed = join(repository, 'node_modules', name);
    const manifest = (at: string) => JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
    const { version, license, dependencies, exports } = manifest(carried);
    t.like(manifest(installed), { name, version, license });
    t.is(dependencies, undefined);
    t.true(
      readdirSync(carried).some((file) => file.startsWith('LICENSE')),
      name,
    );
    for (const entry of Object.keys(exports)) {
      const importedFrom = async (place: string) => {
        const text = `console.log(Object.keys(await import('${name}${entry.slice(1)}')).join());`;
        const { stdout, stderr } = await runProgram(process.execPath, ['--input-type=module', '-e', text], {
          cwd: place,
        });
        t.is(stderr, '');
        return stdout;
      };
      t.is(await importedFrom(join(folder, 'package')), await importedFrom(repository), `${name}${entry.slice(1)}`);
    }
  }
});
