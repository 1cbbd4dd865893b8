import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Output of `biome check` for these files, laid out like the repository and under its rules. */
function lint(t: ExecutionContext, files: Record<string, string>): string {
  const folder = temporaryFolder(t);
  const rules = JSON.parse(readFileSync(join(top, 'biome.json'), 'utf8'));
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...rules, vcs: { enabled: false } }));
  for (const room of ['policy-engine', 'client', 'updater', 'server', 'example-provider']) {
    mkdirSync(join(folder, room, 'src'), { recursive: true });
    cpSync(join(top, room, 'package.json'), join(folder, room, 'package.json'));
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const run = spawnSync(join(top, 'node_modules/.bin/biome'), ['lint', '--max-diagnostics=50', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return `exit ${run.status}\n${run.stdout}${run.stderr}`;
}

const breaches: { note: string; rule: string; files: Record<string, string> }[] = [
  {
    note: 'the engine imports another room',
    rule: 'noRestrictedImports',
    files: { 'policy-engine/src/engine.ts': "import '@signet/server/compose/compose';\n" },
  },
  {
    note: 'policy imports the loader',
    rule: 'noRestrictedImports',
    files: { 'policy-engine/src/policy/decide.ts': "import '../loader/watch.ts';\n" },
  },
  {
    note: 'policy imports node',
    rule: 'noRestrictedImports',
    files: { 'policy-engine/src/policy/decide.ts': "import 'node:fs';\n" },
  },
  {
    note: 'a feature of the server imports http',
    rule: 'noRestrictedImports',
    files: { 'server/src/oauth/scope.ts': "import '../http/app.ts';\n" },
  },
  {
    note: 'koa outside http',
    rule: 'noRestrictedImports',
    files: { 'server/src/oauth/scope.ts': "import 'koa';\n" },
  },
  {
    note: 'the updater imports the server',
    rule: 'noRestrictedImports',
    files: { 'updater/src/main.ts': "import '@signet/server/compose/compose';\n" },
  },
  {
    note: 'a package that package.json does not name',
    rule: 'noUndeclaredDependencies',
    files: { 'client/src/index.ts': "import 'pino';\n" },
  },
  {
    note: 'an import cycle',
    rule: 'noImportCycles',
    files: {
      'client/src/a.ts': "import { b } from './b.ts';\nexport const a: number = b;\n",
      'client/src/b.ts': "import { a } from './a.ts';\nexport const b: number = a;\n",
    },
  },
  {
    note: 'a cycle of types alone',
    rule: 'noImportCycles',
    files: {
      'client/src/a.ts': "import type { B } from './b.ts';\nexport type A = B | 1;\n",
      'client/src/b.ts': "import type { A } from './a.ts';\nexport type B = A | 2;\n",
    },
  },
  {
    note: 'Date outside the clock',
    rule: 'noRestrictedGlobals',
    files: { 'client/src/a.ts': 'export const a = Date.now();\n' },
  },
  {
    note: 'an explicit any',
    rule: 'noExplicitAny',
    files: { 'client/src/a.ts': 'export const a = (b: any) => b;\n' },
  },
  {
    note: 'a floating promise',
    rule: 'noFloatingPromises',
    files: { 'client/src/a.ts': 'async function f(): Promise<void> {}\nexport function a(): void {\n  f();\n}\n' },
  },
];

for (const { note, rule, files } of breaches) {
  test(`lint refuses: ${note}`, (t) => {
    const said = lint(t, files);
    t.regex(said, /^exit 1\n/);
    t.true(said.includes(rule), said);
  });
}

test('lint accepts the same files without the breach', (t) => {
  const said = lint(t, { 'client/src/a.ts': "import 'undici';\nexport const a = 1;\n" });
  t.regex(said, /^exit 0\n/, said);
});
