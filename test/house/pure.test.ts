import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/*
 * Modules that run in a browser unchanged: the explanation of a decision, the impact of a change, the reading of domain documents and policy
 * tests, and the compilation of the snapshots that they decide with. Their imports, at whatever distance, need nothing of Node.
 */
const roots = [
  'access/explain-access.ts',
  'console/pictures/*.ts',
  'management/describe-{explanation,impact}.ts',
  'impact/{impact,fold}.ts',
  'management/documents/!(read-folder).ts',
  'management/{check-documents,coverage,run-cases}.ts',
  'snapshot/compile-snapshot.ts',
];

/** Packages that run anywhere, and entries of the engine that the lint rules keep free of Node. */
const allowed = new Set([
  'yaml',
  'zod',
  ...['clock', 'internal/nearest', 'internal/steps', 'names', 'policy', 'wire'].map(
    (entry) => `@signet/policy-engine/${entry}`,
  ),
]);

const top = fileURLToPath(new URL('../..', import.meta.url));
const source = join(top, 'server/src');
const statement = /^(?:import|export)\s(?!type\b)(?:[^'";]*?\sfrom\s)?\s*'([^']+)'/gm;

/** Runtime imports of a file. */
function imported(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const runs = (declaration: string) =>
    /\{([^}]*)\}/
      .exec(declaration)?.[1]
      ?.split(',')
      .every((name) => /^\s*(type\s|$)/.test(name)) !== true;
  return [...text.matchAll(statement)].flatMap(([declaration, from = '']) => (runs(declaration) ? [from] : []));
}

/** The file of the repository that an import leads to, if that is looked into as well. */
function fileOf(file: string, from: string): string | undefined {
  if (from.startsWith('.')) return normalize(join(dirname(file), from));
  return from.startsWith('@signet/server/') ? join(source, `${from.slice('@signet/server/'.length)}.ts`) : undefined;
}

function* closure(files: readonly string[]): Generator<readonly [file: string, from: string]> {
  const seen = new Set(files);
  for (const file of seen) {
    for (const from of imported(file)) {
      const next = fileOf(file, from);
      if (next === undefined) yield [file, from];
      else seen.add(next);
    }
  }
}

const inServer = (root: string) => globSync(root, { cwd: source }).map((file) => join(source, file));
const playground = globSync(join(top, 'docs/site/playground/*.ts'));

const samples: [what: string, files: readonly string[], packages: ReadonlySet<string>][] = [
  ...roots.map((root): (typeof samples)[number] => [root, inServer(root), allowed]),
  ['the playground of the site', playground, new Set([...allowed, 'jose'])],
];
for (const [what, files, known] of samples) {
  test(`${what}: nothing of Node, at whatever distance`, (t) => {
    t.true(files.length > 0);
    const packages = [...closure(files)];
    t.true(packages.length > 0);
    t.deepEqual(
      packages.filter(([, from]) => !known.has(from)),
      [],
    );
  });
}

test('globals of Node are not used either', (t) => {
  const using = [...roots.flatMap(inServer), ...playground].filter((file) =>
    /\b(?:Buffer|process|setImmediate|__dirname)\b[.(]/.test(readFileSync(file, 'utf8')),
  );
  t.deepEqual(using, []);
});
