import { globSync, readFileSync } from 'node:fs';
import { programFor } from '@signet/server/dev/programs';
import test from 'ava';
import { repository } from '#support/dev-world';

/* `signet` and `@signet/…` on the public registry belong to others: only in a checkout does `npx signet` run this program. */

const fetching =
  /\b(?:npm (?:i|install|add|exec|x|view|init|create)|npx|pnpm (?:add|dlx|i|install)|yarn (?:add|dlx)|bunx|bun add|deno (?:add|install)|npm:)(?: +-\S+)* *(?:@signet\/|signet(?:-updater|-example-provider)?(?![\w./-]))/g;

/** Pages and files about commands that are typed in a checkout. */
const insideCheckout = new Set([
  ...['README.md', 'CHANGELOG.md', 'docs/architecture.md', 'docs/tutorial/protect-a-service.md'],
  'docs/tutorial/try-it.md',
  ...['approvals', 'first-server', 'identities', 'operator', 'people'].map((guide) => `docs/guides/${guide}.md`),
  ...['server/src/cli/init/command-name.ts', 'server/src/dev/programs.ts'],
]);

test('no page and no program tells to fetch a package by a name of this project', (t) => {
  const files = globSync(
    ['*.md', 'docs/**/*.md', '*/README.md', '*/{src,bin}/**/*.{ts,js}', 'deploy/**/*.*', '.github/**/*.*', '.ci/*'],
    { cwd: repository, exclude: (path) => /node_modules|(^|\/)dist(\/|$)|site\/made/.test(path) },
  );
  t.true(files.length > 500);
  const found = files.flatMap((path) =>
    [...readFileSync(`${repository}/${path}`, 'utf8').matchAll(fetching)].map(([words]) => ({ path, words })),
  );
  t.true(found.length > 10, 'the commands of a checkout are found');
  t.deepEqual(
    found.filter(({ path, words }) => !/^npx signet(?:-updater)?$/.test(words) || !insideCheckout.has(path)),
    [],
  );
});

test('`signet dev` calls itself `npx signet` in a checkout, and by its path elsewhere', (t) => {
  t.is(programFor(repository, '/usr/local/bin/signet'), 'npx signet');
  t.is(programFor(`${repository}/docs`, '/usr/local/bin/signet'), 'npx signet');
  t.is(programFor('/srv', '/usr/local/bin/signet'), '/usr/local/bin/signet');
  t.is(programFor('/srv', '/srv/my tools/signet'), "'/srv/my tools/signet'");
});
