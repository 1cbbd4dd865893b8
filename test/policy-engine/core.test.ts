import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/** All files that an entry brings in at run time, and the packages that they import. */
function imports(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>([entry]);
  const packages = new Set<string>();
  for (const file of files) {
    const source = readFileSync(file, 'utf8').replace(/^(import|export) type [^;]*;/gm, '');
    for (const [, from = ''] of source.matchAll(/^(?:import|export|\}) .*?from '([^']+)';$/gm)) {
      if (from.startsWith('.')) files.add(join(dirname(file), from));
      else packages.add(from);
    }
  }
  return { files, packages };
}

test('the core needs no Node and no file watcher', (t) => {
  const core = imports(fileURLToPath(import.meta.resolve('@signet/policy-engine/core')));
  t.true(core.files.size > 20);
  t.deepEqual([...new Set([...core.packages].map((name) => name.split('/')[0]))], ['jose']);
  const all = imports(fileURLToPath(import.meta.resolve('@signet/policy-engine')));
  t.true([...all.packages].some((name) => name.startsWith('node:')));
});

test('no file of the core uses a global of Node', (t) => {
  for (const file of imports(fileURLToPath(import.meta.resolve('@signet/policy-engine/core'))).files) {
    t.notRegex(readFileSync(file, 'utf8'), /\b(Buffer|process|setImmediate|__dirname|require)\b[.(]/, file);
  }
});
