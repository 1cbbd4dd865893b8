import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { repository } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';
import { temporaryFolder } from '#support/temp';

/* The guide to backups, for a server that was just made. */

test('every command of the guide to backups does what the guide says', async (t) => {
  t.timeout(180_000);
  const folder = temporaryFolder(t);
  const made = await runBlock(folder, folder, 'signet init server --operator user.jane');
  t.is(made.status, 0, made.stderr);
  let said = '';
  for (const { text } of blocksOf(readFileSync(join(repository, 'docs/guides/backup.md'), 'utf8'))) {
    const { status, stdout, stderr } = await runBlock(folder, folder, text);
    t.is(status, 0, `${text}${stdout}${stderr}`);
    said += stdout;
  }
  t.regex(said, /^digest +[0-9a-f]{64}$/m);
  t.regex(said, /^epoch +\d+$/m);
});
