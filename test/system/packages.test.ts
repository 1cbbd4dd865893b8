import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { findOldNode } from '#support/old-node';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* What is shipped: the packed packages in a project of plain JavaScript, with nothing but Node. */

const packages = ['policy-engine', 'client', 'updater', 'server', 'example-provider'] as const;

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

test('the packed packages work in a scratch project', async (t) => {
  t.timeout(180_000);
  const folder = temporaryFolder(t);
  const tarballs = join(folder, 'tarballs');
  const project = join(folder, 'project');
  for (const path of [tarballs, project]) mkdirSync(path);
  const workspaces = packages.flatMap((name) => ['-w', name]);
  const pack = ['pack', '--silent', '--pack-destination', tarballs, ...workspaces];
  const packed = await runProgram('npm', pack, { cwd: repository });
  t.is(packed.status, 0, packed.stderr);
  t.is(readdirSync(tarballs).length, packages.length);

  writeFileSync(join(project, 'package.json'), '{ "name": "scratch", "private": true, "type": "module" }\n');
  const files = readdirSync(tarballs).map((name) => join(tarballs, name));
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--silent'];
  const installed = await runProgram('npm', ['install', ...options, ...files], { cwd: project });
  t.is(installed.status, 0, installed.stderr);

  const run = (name: string, text: string) => {
    writeFileSync(join(project, name), text);
    return runProgram(process.execPath, [name], { cwd: project });
  };
  t.deepEqual(await run('decide.js', decideInMemory), { status: 0, stdout: 'ALLOW\nDENY_NO_MATCH\n', stderr: '' });
  t.deepEqual(await run('connect.js', failToConnect), { status: 0, stdout: 'true invalid-identity\n', stderr: '' });

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
  test(`${name} ships what is built and nothing else`, async (t) => {
    const { stdout } = await runProgram('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '-w', name], {
      cwd: repository,
    });
    const [listing] = Object.values<{ files: { path: string }[] }>(JSON.parse(stdout));
    const odd = listing?.files.filter(
      ({ path }) => !/^(dist|bin|policies)\/|^(package\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md)$/.test(path),
    );
    t.deepEqual(odd, []);
    t.deepEqual(
      listing?.files.filter(({ path }) => /\.map$|tsbuildinfo/.test(path)),
      [],
    );
  });
}
