import { join } from 'node:path';
import test from 'ava';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

const program = join(repository, 'test', 'support', 'open-under-fake-timers.mjs');

test('an engine opens, decides, reloads and closes while every timer is faked', async (t) => {
  // An engine that waits for a timer leaves nothing to do: Node then ends with status 13.
  const run = await runProgram(process.execPath, [
    '--conditions=@signet/source',
    program,
    join(temporaryFolder(t), 'policy'),
  ]);
  t.is(run.stderr, '');
  t.is(run.status, 0);
  t.deepEqual(JSON.parse(run.stdout), { before: 'ALLOW', after: 'DENY_NO_MATCH', ok: true, records: 2 });
});
