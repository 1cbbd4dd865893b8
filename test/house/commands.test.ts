import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { commandBlocksOf } from '#support/command-blocks';
import { top } from '../limits/constants.ts';

/*
 * Every command that a page tells to type is run by a test, or carries `<!-- not run: reason -->` above its block. The table has, for each page,
 * the test that runs its blocks, how many are run, and how many are not.
 */
const pages: Readonly<Record<string, readonly [by: string, run: number, notRun: number]>> = {
  'README.md': ['system/readme-walkthrough.test.ts', 1, 2],
  'docs/guides/approvals.md': ['system/approvals-guide.test.ts', 8, 0],
  'docs/guides/backup.md': ['system/backup-guide.test.ts', 4, 0],
  'docs/guides/coming-from-athenz.md': ['system/coming-from-athenz.test.ts', 8, 1],
  'docs/guides/console.md': ['system/console.test.ts', 2, 0],
  'docs/guides/first-server.md': ['support/first-server.ts', 10, 2],
  'docs/guides/frameworks.md': ['', 0, 1],
  'docs/guides/identities.md': ['system/identities-guide.test.ts', 13, 0],
  'docs/guides/install.md': ['system/install-guide.test.ts', 5, 0],
  'docs/guides/kubernetes.md': ['', 0, 2],
  'docs/guides/move-the-store.md': ['system/servers/move-the-store.test.ts', 10, 0],
  'docs/guides/operator.md': ['system/operator-guide.test.ts', 37, 3],
  'docs/guides/operator-mistakes.md': ['system/operator-mistakes.test.ts', 29, 0],
  'docs/guides/people.md': ['system/identities-guide.test.ts', 6, 1],
  'docs/guides/production.md': ['system/servers/production-guide.test.ts', 21, 0],
  'docs/guides/rollover.md': ['system/servers/rollover-guide.test.ts', 13, 0],
  'docs/guides/runbook.md': ['', 0, 3],
  'docs/guides/several-servers.md': ['system/servers/several-servers-guide.test.ts', 10, 2],
  'docs/guides/standard-clients.md': ['system/standard-clients-guide.test.ts', 4, 0],
  'docs/guides/traces.md': ['', 0, 2],
  'docs/guides/when-the-store-fails.md': ['system/faults-wal.test.ts', 2, 0],
  'docs/reference/openapi.md': ['', 0, 1],
  'docs/tutorial/protect-a-service.md': ['system/tutorial.test.ts', 14, 2],
  'docs/tutorial/try-it.md': ['system/readme-walkthrough.test.ts', 2, 0],
  'client/README.md': ['', 0, 1],
  'policy-engine/README.md': ['', 0, 1],
  'server/README.md': ['', 0, 1],
};

const found = new Map(
  globSync(['docs/**/*.md', '{*,{policy-engine,client,updater,server,example-provider}/README}.md'], { cwd: top })
    .filter((file) => !/node_modules|\bdist\b|docs\/site\/made/.test(file))
    .map((file) => [file, commandBlocksOf(readFileSync(join(top, file), 'utf8'))] as const)
    .filter(([, blocks]) => blocks.length > 0),
);

test('every block of commands is run, or says why not', (t) => {
  const counted = [...found].map(([file, blocks]) => {
    const run = blocks.filter(({ notRun }) => notRun === undefined).length;
    return [file, { run, notRun: blocks.length - run }];
  });
  const listed = Object.entries(pages).map(([file, [, run, notRun]]) => [file, { run, notRun }]);
  t.deepEqual(Object.fromEntries(counted), Object.fromEntries(listed));
});

for (const [file, [by, run]] of Object.entries(pages)) {
  test(`${file}: its commands are run by ${by === '' ? 'none' : by}`, (t) => {
    if (run === 0) return t.is(by, '');
    const path = join(top, 'test', by);
    t.true(existsSync(path));
    const name = file.slice(file.lastIndexOf('/') + 1);
    t.true(readFileSync(path, 'utf8').includes(name), `it does not read ${name}`);
  });
}

test('a block is found by its language or its first word, and so is its reason', (t) => {
  const block = (info: string, text: string) => `\n\`\`\`${info}\n${text}\n\`\`\`\n`;
  const blocks = (text: string) => commandBlocksOf(text).map(({ notRun }) => notRun);
  t.deepEqual(blocks(block('sh refused', 'true')), [undefined]);
  t.deepEqual(blocks(block('text', 'npx signet init')), [undefined]);
  t.deepEqual(blocks(block('text', 'A=1 signet init')), [undefined]);
  t.deepEqual(blocks(block('text', 'signet: nothing was applied')), []);
  t.deepEqual(blocks(block('js', 'node.run()')), []);
  t.deepEqual(blocks(`<!-- not run: it needs root -->\n${block('sh', 'reboot')}`), ['it needs root']);
});
