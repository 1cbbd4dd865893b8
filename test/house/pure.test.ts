import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/*
 * What a page in a browser can run as it is: the explanation of a decision, the impact of a change, the reading of domain
 * documents and policy tests, and what compiles the snapshots that they decide with. Whatever these import, at whatever distance, needs nothing of Node.
 */
const roots = [
  'access/explain-access.ts',
  'cli/describe-{explanation,impact}.ts',
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

const source = fileURLToPath(new URL('../../server/src', import.meta.url));
const statement = /^(?:import|export)\s(?!type\b)(?:[^'";]*?\sfrom\s)?\s*'([^']+)'/gm;

/** What a file imports when it runs. */
function imported(file: string): readonly string[] {
  const text = readFileSync(join(source, file), 'utf8');
  const runs = (declaration: string) =>
    /\{([^}]*)\}/
      .exec(declaration)?.[1]
      ?.split(',')
      .every((name) => /^\s*(type\s|$)/.test(name)) !== true;
  return [...text.matchAll(statement)].flatMap(([declaration, from = '']) => (runs(declaration) ? [from] : []));
}

function* closure(files: readonly string[]): Generator<readonly [file: string, from: string]> {
  const seen = new Set(files);
  for (const file of seen) {
    for (const from of imported(file)) {
      if (from.startsWith('.')) seen.add(normalize(join(dirname(file), from)));
      else yield [file, from];
    }
  }
}

for (const root of roots) {
  test(`${root}: nothing of Node, at whatever distance`, (t) => {
    const files = globSync(root, { cwd: source });
    t.true(files.length > 0);
    const packages = [...closure(files)];
    t.true(packages.length > 0);
    t.deepEqual(
      packages.filter(([, from]) => !allowed.has(from)),
      [],
    );
  });
}

test('globals of Node are not used either', (t) => {
  const files = roots.flatMap((root) => globSync(root, { cwd: source }));
  const using = files.filter((file) =>
    /\b(?:Buffer|process|setImmediate|__dirname)\b[.(]/.test(readFileSync(join(source, file), 'utf8')),
  );
  t.deepEqual(using, []);
});
