import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

const bench = join(import.meta.dirname, '../../bench');
const { chapters }: typeof import('../../bench/results/chapters.ts') = await import(`${bench}/results/chapters.ts`);
const results = readFileSync(join(bench, 'RESULTS.md'), 'utf8');

test('every picture of the results is there, has words for who does not see it, and fetches nothing', (t) => {
  for (const [, file = ''] of results.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)) {
    const svg = readFileSync(join(bench, file), 'utf8');
    t.regex(svg, /<title>[^<]+<\/title><desc>[^<]+<\/desc>/, file);
    t.notRegex(svg, /<script|<image|href=|url\(http|@import/, file);
  }
  t.pass();
});

test('no figure belongs to two chapters', (t) => {
  const beginnings = chapters.flatMap(({ figures }) => figures);
  for (const one of beginnings)
    t.deepEqual(
      beginnings.filter((other) => other.startsWith(one)),
      [one],
    );
});
