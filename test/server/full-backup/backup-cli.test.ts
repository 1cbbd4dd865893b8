import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { signetScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { runSignetIn } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

/* Early refusals of `signet backup --all` and `signet restore --into`. */

for (const [what, args, status, message] of [
  [
    'nothing to encrypt with',
    ['backup', 'a', '--all'],
    2,
    /encrypt it with either `--passphrase-file` or `--recipient`/,
  ],
  [
    'two ways to encrypt',
    ['backup', 'a', '--all', '--passphrase-file', 'pass', '--recipient', 'age1x'],
    2,
    /either `--passphrase-file` or `--recipient`/,
  ],
  [
    'a passphrase without --all',
    ['backup', 'a', '--passphrase-file', 'pass'],
    2,
    /require `--all`: a backup of the store alone/,
  ],
  ['a passphrase that others read', ['backup', 'a', '--all', '--passphrase-file', 'open'], 2, /can be read by others/],
  ['a short passphrase', ['backup', 'a', '--all', '--passphrase-file', 'short'], 2, /12 to 1024 characters/],
  ['a key that is none', ['backup', 'a', '--all', '--recipient', 'age1x'], 1, /not a recipient of age/],
  [
    'a file that is not there',
    ['backup', 'a', '--all', '--passphrase-file', 'pass'],
    1,
    /`.*c\.pem`, which the configuration names, cannot be copied \(ENOENT\)/,
  ],
  ['nothing to open with', ['restore', 'a', '--into', 'b'], 2, /either `--passphrase-file` or `--identity`/],
  ['a passphrase without --into', ['restore', 'a', '--passphrase-file', 'pass'], 2, /require `--into`/],
  [
    'a complete backup in the place of a store',
    ['restore', 'age'],
    2,
    /`age` is a complete backup: unpack it with `--into`/,
  ],
  [
    'a backup of the store alone, to unpack',
    ['restore', 'store', '--into', 'b', '--passphrase-file', 'pass'],
    2,
    /`store` is a backup of the store alone: run the command without `--into`/,
  ],
  [
    'a complete backup to check',
    ['store', 'check', 'age'],
    2,
    /`age` is a complete backup: unpack it with `signet restore/,
  ],
  [
    'a secret key without the digest',
    ['restore', 'a', '--into', 'b', '--identity', 'pass'],
    2,
    /`--identity` requires `--digest`/,
  ],
] as const) {
  test(`${what}: ${args.join(' ')}`, async (t) => {
    const folder = temporaryFolder(t);
    const tls = 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }\n';
    for (const [name, text] of Object.entries({
      'signet.yaml': tls,
      pass: 'twelve chars',
      open: 'twelve chars',
      short: 'eleven char',
      age: 'age-encryption.org/v1',
      store: 'SQLite format 3\0',
    })) {
      writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 });
    }
    chmodSync(join(folder, 'open'), 0o644);
    const before = readdirSync(folder);
    const finished = await runSignetIn(folder, ...args, '--config', 'signet.yaml');
    t.is(finished.status, status, finished.stderr);
    t.regex(finished.stderr, message);
    // The key that seals backups is made before anything is looked at.
    t.deepEqual(
      readdirSync(folder).filter((name) => name !== 'data'),
      before,
      'nothing else is made',
    );
  });
}

test('a complete backup is restored from a pipe, which is read once', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'pass'), 'twelve chars\n', { mode: 0o600 });
  const signet = (...args: readonly string[]) => runSignetIn(folder, ...args);
  const made = await signet('init', 'server', '--json');
  t.is(made.status, 0, made.stderr);
  const kept = await signet('backup', 'a', '--all', '--passphrase-file', 'pass', '--config', 'server/signet.yaml');
  t.is(kept.status, 0, kept.stderr);
  const restore = `cat a | '${process.execPath}' '${signetScript}' restore /dev/fd/0 --into b --passphrase-file pass`;
  const restored = await runProgram('/bin/sh', ['-c', restore], { cwd: folder });
  t.is(restored.status, 0, restored.stderr);
});
