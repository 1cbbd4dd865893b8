import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createProgram, wholeProgram } from '@signet/server/program';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';

/*
 * Modules loaded before a program's own work, which are most of the time that it takes. A time depends on the machine, a list of modules does
 * not.
 */

const recorder = join(repository, 'test', 'support', 'loaded-modules.mjs');
const root = pathToFileURL(`${repository}/`).href;

/** Own files and packages that a command line loads. */
async function loadedBy(t: ExecutionContext, program: string, args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const list = join(folder, 'loaded');
  const env = { ...process.env, SIGNET_TEST_LOADED: list };
  const words = ['--conditions=@signet/source', '--import', recorder, join(repository, program), ...args];
  const { status, stderr } = await runProgram(process.execPath, words, { env });
  const loaded = readFileSync(list, 'utf8').trim().split('\n');
  const packages = loaded.map((address) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(address)?.[1]);
  const ours = loaded.filter((address) => address.startsWith(root) && !address.includes('/node_modules/'));
  return {
    status,
    stderr,
    files: ours.map((address) => address.slice(root.length)).toSorted(),
    packages: [...new Set(packages)].filter((name) => name !== undefined).toSorted(),
  };
}

const output = 'policy-engine/src/program-output.ts';
const signet = {
  program: 'server/bin/signet.js',
  files: [
    'policy-engine/src/nearest.ts',
    output,
    'policy-engine/src/tls-environment.ts',
    ...['bin/signet.js', 'bin/start.js', 'src/cli/exit-status.ts', 'src/cli/usage-message.ts', 'src/main.ts'].map(
      (file) => `server/${file}`,
    ),
    'server/src/program.ts',
  ],
};
const updater = {
  program: 'updater/bin/signet-updater.js',
  files: [
    output,
    'policy-engine/src/tls-environment.ts',
    ...['bin/signet-updater.js', 'bin/start.js', 'src/exit-status.ts', 'src/main.ts', 'src/program.ts'].map(
      (file) => `updater/${file}`,
    ),
  ],
};

for (const [what, { program, files }, args, status] of [
  ['signet --version', signet, ['--version'], 0],
  ['signet --help', signet, ['--help'], 0],
  ['signet with a word that is no command', signet, ['tokne'], 2],
  ['signet-updater --help', updater, ['--help'], 0],
] as const) {
  test(`${what} loads the command line and nothing of what it does`, async (t) => {
    const loaded = await loadedBy(t, program, args);
    t.like(loaded, { status, packages: ['commander'], files }, loaded.stderr);
  });
}

test('a command that asks a server loads no store and no configuration', async (t) => {
  const { status, packages, files } = await loadedBy(t, 'server/bin/signet.js', ['token', 'get', '--help']);
  t.is(status, 0);
  const stores = /^server\/src\/(store|config\/config(-schema)?\.ts)/;
  t.deepEqual(
    files.filter((file) => stores.test(file)),
    [],
  );
  for (const name of ['kysely', 'better-sqlite3', 'pg']) t.false(packages.includes(name), name);
});

test('a server loads no driver of PostgreSQL, no SDK of a cloud, no client of providers, no parser of bodies and no API for spans before it needs one', async (t) => {
  const { status, packages, files } = await loadedBy(t, 'server/src/compose/compose.ts', []);
  t.is(status, 0);
  const late = ['pg', '@aws-sdk/client-sts', 'undici', '@opentelemetry/api', 'prom-client', 'koa-bodyparser'];
  t.deepEqual(
    packages.filter((name) => late.includes(name)),
    [],
  );
  const lateFiles = /^server\/src\/(store\/(migrations\/|sqlite\/(migrate|empty-store)\.ts)|http\/openapi\/)/;
  t.deepEqual(
    files.filter((file) => lateFiles.test(file)),
    [],
  );
});

test('a server does not load what Node has for a fetch and WebSocket of its own', async (t) => {
  const { status, stdout } = await runProgram(process.execPath, [
    '--conditions=@signet/source',
    '--input-type=module',
    '-e',
    `await import('${root}server/src/compose/compose.ts'); console.log(process.moduleLoadList.some((name) => /undici/.test(name)));`,
  ]);
  t.deepEqual({ status, stdout }, { status: 0, stdout: 'false\n' });
});

test('what is known of the commands without loading them is what they say themselves', async (t) => {
  const [known, whole] = await Promise.all([createProgram('', []), wholeProgram()]);
  const said = (program: typeof whole) =>
    program.commands.map((each) => [each.name(), each.summary() || each.description()]);
  t.deepEqual(said(known), said(whole));
});

test('a word that is no command is answered with the nearest one, though none is loaded', async (t) => {
  const { stderr } = await runProgram(process.execPath, [join(repository, 'server/bin/signet.js'), 'tokne']);
  t.is(stderr, "signet: unknown command 'tokne': did you mean `token`?\n");
});
