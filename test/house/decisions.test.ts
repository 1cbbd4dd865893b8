import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';

test('every decision has a number, a title and a status, and stands in the index with a link', (t) => {
  const folder = join(top, 'docs/decisions');
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const files = globSync('[0-9]*.md', { cwd: folder });
  const index = read('README.md').split('\n');
  t.true(files.length > 30);
  t.is(new Set(files.map((file) => file.slice(0, 3))).size, files.length, 'each number is used once');
  for (const file of files) {
    const number = file.slice(0, 3);
    t.regex(read(file), new RegExp(`^# ${number}: \\S.*\\n\\n\\*\\*Status\\.\\*\\* \\S`), file);
    t.true(index.includes(`[${number}]: ${file}`), `the index has no link to ${file}`);
    t.true(
      index.some((line) => line.startsWith(`| [${number}] `)),
      `the index has no row for ${file}`,
    );
  }
});
