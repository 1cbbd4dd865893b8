import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';

/* References of comments and documents exist in the repository. */

const files = [
  ...globSync('*/{src,bin}/**/*.{ts,mjs}', { cwd: top }),
  ...globSync('{test,bench}/**/*.{ts,mjs}', { cwd: top }),
  ...globSync('{*,docs/**/*,*/README}.md', { cwd: top }),
].filter((file) => !/node_modules|\bdist\b|docs\/site\/made/.test(file) && !file.endsWith('references.test.ts'));
const read = (file: string): string => readFileSync(join(top, file), 'utf8');
const records = globSync('docs/decisions/*.md', { cwd: top });
const hasRecord = (number: string): boolean => records.some((file) => file.startsWith(`docs/decisions/${number}-`));

/** Anchors of a page, as web pages of a repository make them of its headings. */
function anchorsOf(file: string): Set<string> {
  const headings = read(file).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

function faultsOf(file: string): string[] {
  const text = read(file);
  const pages = [...text.matchAll(/\bdocs\/reference\/([a-z-]+\.md)(?:#([a-z0-9-]+))?/g)].filter(([, page, anchor]) => {
    const path = `docs/reference/${page}`;
    if (globSync(path, { cwd: top }).length === 0) return true;
    return anchor !== undefined && !anchorsOf(path).has(anchor);
  });
  const decisions = [...text.matchAll(/\b(?:docs\/decisions\/|[Dd]ecision )(\d{3})\b/g)].filter(
    ([, number = '']) => !hasRecord(number),
  );
  const elsewhere = [...text.matchAll(/\b[Dd]ecisions? \d{1,2}\b(?!\d)|\binterface document\b/g)];
  return [...pages, ...decisions, ...elsewhere].map(([found]) => `${file}: ${found}`);
}

test('references lead to a heading of the reference or to a decision record', (t) => {
  t.true(files.length > 800);
  t.deepEqual(files.flatMap(faultsOf), []);
});

test('links between documents lead somewhere', (t) => {
  const dead = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:|mailto:)([^)\s]*)\)/g)].flatMap(([, target = '']) => {
        const [path = '', anchor] = target.split('#');
        const found = path === '' ? file : join(file, '..', path).replace(/\/$/, '');
        if (globSync(found, { cwd: top }).length === 0) return [`${file}: ${target}`];
        const isDead = anchor !== undefined && found.endsWith('.md') && !anchorsOf(found).has(anchor);
        return isDead ? [`${file}: ${target}`] : [];
      }),
    );
  t.deepEqual(dead, []);
});

test('files that the documents for maintainers name are there', (t) => {
  const named = ['docs/architecture.md', 'CONTRIBUTING.md'].flatMap((file) =>
    [
      ...read(file).matchAll(
        /`((?:policy-engine|client|updater|server|example-provider|test|docs|bench)\/[^`\s*<…]*)`/g,
      ),
    ].map(([, path = '']) => ({ file, path })),
  );
  t.true(named.length > 60);
  const missing = named.filter(({ path }) => globSync(path.replace(/\/$/, ''), { cwd: top }).length === 0);
  t.deepEqual(missing, []);
});
