import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';

/* Generator of the documentation site, as far as it needs none of its packages; `npm run site -w test` checks the built one. */

const part = (name: string) => import(join(top, 'docs/site', name));
const { anchorOf, linkOnSite }: typeof import('../../docs/site/links.ts') = await part('links.ts');
const { sections, shown }: typeof import('../../docs/site/navigation.ts') = await part('navigation.ts');
const { operationPages }: typeof import('../../docs/site/operations.ts') = await part('operations.ts');
const { boostOf, withSynonyms }: typeof import('../../docs/site/search.ts') = await part('search.ts');
const { withSecurityPolicy }: typeof import('../../docs/site/security-policy.ts') = await part('security-policy.ts');

const kept = globSync('docs/**/*.md', { cwd: top })
  .map((file) => file.slice('docs/'.length))
  .filter((file) => !file.startsWith('site/') && !file.startsWith('dist/'));

test('every page stands in the navigation, and everything in it is a page', (t) => {
  const listed = sections.flatMap(({ pages }) => pages.map(([path]) => `${path}.md`));
  const made = [...Object.values(shown), ...Array.from(operationPages(document).keys(), (name) => `reference/${name}`)];
  const ofPackages = ['reference/policy-engine/README.md', 'reference/client/README.md'];
  // The start is the title of the site; the list of decisions leads to each of them.
  const elsewhere = kept.filter((page) => page === 'index.md' || /^decisions\/\d/.test(page));
  t.deepEqual([...listed, ...elsewhere].toSorted(), [...kept, ...made, ...ofPackages].toSorted());
});

const document = JSON.parse(readFileSync(join(top, 'docs/openapi.json'), 'utf8'));

test('every operation and every schema of the OpenAPI document has its heading', (t) => {
  const text = [...operationPages(document).values()].join('\n');
  const headings = new Set([...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading));
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(Object(methods)));
  const names = [
    ...operations.map((operation) => Object(operation).operationId),
    ...Object.keys(document.components.schemas),
  ];
  t.true(names.length > 150);
  t.deepEqual(
    names.filter((name) => !headings.has(name)),
    [],
  );
  t.true(text.includes('`POST /v1/oauth2/token`'));
});

for (const [note, page, link, expected] of [
  ['a page beside it', 'guides/operator.md', 'documents.md#names', '/guides/documents.md#names'],
  [
    'a page of the repository',
    'guides/production.md',
    '../../policy-engine/README.md#metrics',
    '/project/policy-engine.md#metrics',
  ],
  ['from a page of the repository', 'project/contributing.md', 'docs/architecture.md', '/architecture.md'],
  ['a file', 'reference/openapi.md', '../openapi.json', '/openapi.json'],
  ['a folder', 'architecture.md', 'decisions', '/decisions/'],
  ['the page of a folder', 'guides/operator.md', '../reference/README.md#apis', '/reference/#apis'],
  ['a picture', 'index.md', 'pictures/change.svg', '/change.svg'],
  ['a place on the page', 'guides/operator.md', '#start', '#start'],
  ['another site', 'guides/operator.md', 'https://example.com/', 'https://example.com/'],
] as const) {
  test(`a link to ${note}`, (t) => t.is(linkOnSite(page, link), expected));
}

test('a link to a file that the site does not have is refused', (t) => {
  t.throws(() => linkOnSite('guides/operator.md', '../../server/src/main.ts'), { message: /does not have/ });
});

test('search puts guides before reference before types before decisions', (t) => {
  const pages = ['guides/operator', 'concepts/overview', 'reference/http', 'reference/client/main', 'decisions/001-x'];
  const boosts = pages.map((page) => boostOf(`/${page}.html#start`));
  t.deepEqual(
    boosts,
    boosts.toSorted((a, b) => b - a),
  );
  t.is(new Set(boosts).size, pages.length);
  const ofTitle = boostOf('/guides/backup.html#files', 'backup', { title: 'Files', titles: ['Backup and disaster'] });
  t.true(ofTitle > boostOf('/guides/operator.html#backup', 'backup', { title: 'Backup', titles: ['Operator'] }));
});

test('a word is searched together with those that stand for it', (t) => {
  t.deepEqual(withSynonyms('K8s'), ['k8s', 'kubernetes']);
  t.deepEqual(withSynonyms('Audit'), ['audit']);
});

test('anchors are those of a repository', (t) => {
  t.is(anchorOf('Who did that? (`audit`)'), 'who-did-that-audit');
});

test('a page allows its own inline scripts and no others, and no style attributes', (t) => {
  const html = withSecurityPolicy(
    '<html><head>\n<meta charset="utf-8"><script src="/a.js"></script><script>alert(1)</script></head><p style="--vp-vh:0px;">x</p></html>',
  );
  const [, policy = ''] = /content="([^"]*)"/.exec(html) ?? [];
  t.true(
    policy.startsWith("default-src 'none'; script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=';"),
    policy,
  );
  t.regex(policy, /; style-src 'self';/);
  t.false(html.includes('style='));
});
