import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const top = fileURLToPath(new URL('../..', import.meta.url));
const tool = (name: string) => join(top, 'node_modules/.bin', name);

test('the packed engine: its types resolve everywhere, nothing runs at install, two dependencies', (t) => {
  const folder = temporaryFolder(t);
  const run = (command: string, args: string[]) =>
    execFileSync(command, args, {
      cwd: join(top, 'policy-engine'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const packed: { filename: string; files: { path: string }[] }[] = JSON.parse(
    run('npm', ['pack', '--json', '--foreground-scripts=false', '--pack-destination', folder]),
  );
  const file = join(folder, packed[0]?.filename ?? '');
  t.notThrows(() => run(tool('publint'), ['--strict', file]));
  t.notThrows(() => run(tool('attw'), [file, '--profile', 'esm-only']));
  const paths = (packed[0]?.files ?? []).map(({ path }) => path);
  t.deepEqual(
    paths.filter(
      (path) => !/^(joined\/.+\.(js|d\.ts|txt)|package\.json|README\.md|CHANGELOG\.md|LICENSE|NOTICE)$/.test(path),
    ),
    [],
  );
  const manifest = JSON.parse(readFileSync(join(top, 'policy-engine/package.json'), 'utf8'));
  t.deepEqual(Object.keys(manifest.dependencies), ['chokidar', 'jose']);
  const hooks = Object.keys(manifest.scripts).filter((script) => /install/.test(script));
  t.deepEqual(hooks, []);
});
