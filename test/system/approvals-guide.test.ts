import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';

const isInstalled = spawnSync('jq', ['--version']).error === undefined;
const withTools = isInstalled ? test : test.skip;
if (!isInstalled) test('jq is not installed here: the guide is skipped', (t) => t.pass());

withTools('every command of the guide "Request and approve" does what the guide says', async (t) => {
  t.timeout(300_000);
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const folder = join(world.folder, '..', 'work');
  mkdirSync(folder);
  symlinkSync(world.folder, join(folder, '.signet'));
  const outputs: string[] = [];
  for (const { text, kind } of blocksOf(readFileSync(join(repository, 'docs/guides/approvals.md'), 'utf8'))) {
    const finished = await runBlock(folder, world.folder, text);
    t.is(
      finished.status,
      kind === 'refused' ? 1 : 0,
      `${text}\n${finished.stdout}${finished.stderr}\n${world.errors()}`,
    );
    outputs.push(finished.stdout + finished.stderr);
  }
  const all = outputs.join('');
  for (const said of [
    /^request 1: catalog:role\.publisher for 1h, waits for 1 approval$/m,
    /user\.ann: gains write on catalog:series/,
    /^granted$/m,
    /domain `catalog` needs 1 approval: add request=true \(--request\)/,
    /^request 3: .*waits for 1 approval$/m,
    /media\.guest: gains read on catalog:/,
    /rejected/,
    /unreviewed/,
    /the screens are black/,
    /^request 4: .*applied/m,
  ]) {
    t.regex(all, said);
  }
});
