import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { runSignet } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

/* Completions by the shell itself: in bash always, in the others where they are installed. */

const print = (shell: string) => runSignet('completion', shell);
const [bash, zsh, fish] = [(await print('bash')).stdout, (await print('zsh')).stdout, (await print('fish')).stdout];

/** A folder with what names are found in. */
function world(t: Parameters<typeof temporaryFolder>[0]): string {
  const folder = temporaryFolder(t);
  for (const name of ['.signet/policy', 'policies', 'other']) mkdirSync(join(folder, name), { recursive: true });
  const identities = (...names: string[]) =>
    JSON.stringify({
      caBundle: '/ca',
      identities: Object.fromEntries(names.map((name) => [name, { cert: '/c', key: '/k' }])),
    });
  writeFileSync(join(folder, '.signet/dev.json'), identities('media.player', 'sys.auth.operator', 'a$(touch made)b'));
  writeFileSync(join(folder, 'other/dev.json'), identities('other.one'));
  writeFileSync(join(folder, '.signet/policy/catalog.pol'), '');
  writeFileSync(join(folder, 'policies/films.yaml'), 'domain: films\nroles: {}\n');
  writeFileSync(join(folder, 'own.pem'), '');
  return folder;
}

const completes = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _signet; printf '%s\\n' "\${COMPREPLY[@]}"`;

function completed(folder: string, words: readonly string[]) {
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${bash}\n${completes}`, 'x', 'signet', ...words], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stderr, words: stdout.split('\n').filter((word) => word !== '') };
}

const cases: readonly (readonly [words: readonly string[], completed: readonly string[]])[] = [
  [['tok'], ['token']],
  [['--config', 'x.yaml', 'tok'], ['token']],
  [
    ['token', ''],
    ['get', 'run', 'inspect', 'principal', '--help'],
  ],
  [
    ['token', 'get', '--as', ''],
    ['media.player', 'sys.auth.operator'],
  ],
  [['token', 'get', '--as', 'med'], ['media.player']],
  [
    ['token', 'get', '--as', '='],
    ['media.player', 'sys.auth.operator'],
  ],
  [['token', 'get', '--as', '=', 's'], ['sys.auth.operator']],
  [['token', 'get', '--data', 'other', '--as', ''], ['other.one']],
  [['token', 'get', '--data', 'none', '--as', ''], []],
  [['role', 'add', 'films', 'viewer', 'media.player', '--as', 's'], ['sys.auth.operator']],
  [['access', 'explain', 'read', 'catalog:movie', '--principal', 'm'], ['media.player']],
  [
    ['token', 'get', '--domain', ''],
    ['catalog', 'films', 'media', 'sys.auth'],
  ],
  [['domain', 'show', 'f'], ['films']],
  [['domain', 'show', '--j'], ['--json']],
  [['token', 'get', '--cert', 'ow'], ['own.pem']],
  [['apply', 'p'], ['policies']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [
    ['policy', 'add', 'films', 'x', '--effect', ''],
    ['allow', 'deny'],
  ],
  [['token', 'get', '--expires-in', ''], []],
];
for (const [words, expected] of cases) {
  test(`bash: ${words.join(' ')}<TAB>`, (t) => {
    t.deepEqual(completed(world(t), words), { status: 0, stderr: '', words: [...expected] });
  });
}

test('bash: a folder without anything gives nothing and says nothing', (t) => {
  const folder = temporaryFolder(t);
  for (const option of ['--as', '--domain', '--cert', '--data']) {
    t.deepEqual(completed(folder, ['token', 'get', option, '']), { status: 0, stderr: '', words: [] });
  }
});

for (const [shell, script] of [
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
] as const) {
  test(`${shell} reads its script`, (t) => {
    const { status, stderr, error } = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
    if (error !== undefined) {
      t.log(`skipped: there is no ${shell} on this machine`);
      t.true(script.includes('sys.auth') || script.includes('dev.json'));
      return;
    }
    t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });
}
