import { globSync, readFileSync } from 'node:fs';
import { programFor } from '@signet/server/dev/programs';
import test from 'ava';
import { repository } from '#support/dev-world';

/*
 * `signet` on the public registry is another project and `@signet/…` may become anybody's. So nothing that we print or document has somebody fetch by
 * those names: inside a checkout `npx signet` finds ours, elsewhere a package is a file and a program has its path.
 */

const texts = globSync(
  ['*.md', 'docs/**/*.md', '*/README.md', '*/{src,bin}/**/*.{ts,js}', 'deploy/**/*', '.github/**/*', '.ci/*'],
  { cwd: repository, exclude: (path) => /node_modules|(^|\/)dist(\/|$)|site\/made/.test(path) },
)
  .filter((path) => /\.\w+$|\/run$/.test(path))
  .map((path) => ({ path, text: readFileSync(`${repository}/${path}`, 'utf8') }));

/** What fetches a package of a name of ours. A path, as `./signet-server-0.2.0.tgz`, is none. */
const fetching =
  /\b(?:npm (?:i|install|add|exec|x|view|init|create)|npx|pnpm (?:add|dlx|i|install)|yarn (?:add|dlx)|bunx|bun add|deno (?:add|install)|npm:)(?: +-\S+)* *(?:@signet\/|signet(?:-updater|-example-provider)?(?![\w./-]))/g;

/** They tell their reader to be in a checkout. */
const insideCheckout: Readonly<Record<string, RegExp>> = {
  'README.md': /^npm ci\b/m,
  'CHANGELOG.md': /^# Changelog/,
  'docs/architecture.md': /^For whoever maintains Signet/m,
  'docs/guides/first-server.md': /^In a checkout type `npx signet`/m,
  'docs/guides/identities.md': /at the root of the repository/,
  'docs/guides/operator.md': /at the root of the repository/,
  'docs/guides/people.md': /at the root of the\s+repository/,
  'docs/tutorial/protect-a-service.md': /both in the folder of the checkout/,
  'server/src/cli/init/command-name.ts': /leadsHere\(join\(folder, bin, 'signet'\)\)/,
};

test('nothing has its reader fetch a package by a name of ours', (t) => {
  t.true(texts.length > 500, 'the texts are found');
  const found = texts.flatMap(({ path, text }) => [...text.matchAll(fetching)].map(([words]) => ({ path, words })));
  const wrong = found.filter(
    ({ path, words }) => !/^npx signet(?:-updater)?$/.test(words) || insideCheckout[path] === undefined,
  );
  t.deepEqual(
    wrong.filter(({ path }) => path !== 'server/src/dev/programs.ts'),
    [],
  );
  for (const { path, text } of texts) t.regex(text, insideCheckout[path] ?? /^/, path);
});

for (const words of ['npm install @signet/server', 'npx signet dev', 'npm i -g signet', 'pnpm dlx @signet/updater']) {
  test(`finds \`${words}\``, (t) => t.regex(words, new RegExp(fetching.source)));
}

for (const words of [
  'npm install ./signet-server-0.2.0.tgz',
  'signet serve',
  'npx signet-cli',
  'npm install -g /srv/signet.tgz',
]) {
  test(`lets \`${words}\` pass`, (t) => t.notRegex(words, new RegExp(fetching.source)));
}

test('`signet dev` calls itself `npx signet` in a checkout, and by its path elsewhere', (t) => {
  t.is(programFor(repository, '/usr/local/bin/signet'), 'npx signet');
  t.is(programFor(`${repository}/docs`, '/usr/local/bin/signet'), 'npx signet');
  t.is(programFor('/srv', '/usr/local/bin/signet'), '/usr/local/bin/signet');
  t.is(programFor('/srv', '/srv/my tools/signet'), "'/srv/my tools/signet'");
});
