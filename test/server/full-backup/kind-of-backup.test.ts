import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kindOfBackup } from '@signet/server/full-backup/kind-of-backup';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* Kind of a file by its first bytes: only for better messages, so that unknown ones are left to the code that opens them. */

const rows: readonly [what: string, make: (file: string) => void, kind: string | undefined][] = [
  ['a complete backup', (file) => writeFileSync(file, 'age-encryption.org/v1\n-> X25519'), 'complete'],
  ['a store', (file) => writeFileSync(file, 'SQLite format 3\0...'), 'store'],
  ['as long as what it begins with', (file) => writeFileSync(file, 'SQLite format 3\0'), 'store'],
  ['one octet less', (file) => writeFileSync(file, 'SQLite format 3'), undefined],
  ['an empty file', (file) => writeFileSync(file, ''), undefined],
  ['nothing', () => undefined, undefined],
  ['a folder', (file) => mkdirSync(file), undefined],
  ['a pipe, which is not waited for', (file) => execFileSync('mkfifo', [file]), undefined],
  [
    'a file in a folder that cannot be read',
    (file) => {
      mkdirSync(file);
      chmodSync(file, 0);
    },
    undefined,
  ],
];

for (const [what, make, kind] of rows) {
  test(`the kind of ${what}`, (t) => {
    const file = join(temporaryFolder(t), 'file');
    make(file);
    t.is(kindOfBackup(file), kind as ReturnType<typeof kindOfBackup>);
  });
}
