import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';

/* V8 is set for a whole process, so each case has one of its own. */

/** By how much the space for young objects grows while much stays alive. */
async function growth(t: ExecutionContext, flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { keepYoungHeapSmall } from '${join(repository, 'server/src/cli/young-heap.ts')}';
    const size = () => getHeapSpaceStatistics().find((each) => each.space_name === 'new_space').space_size;
    keepYoungHeapSmall();
    const before = size();
    const kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at }));
    console.log(kept.length > 0 && size() / before);`;
  const words = ['--conditions=@signet/source', ...flags, '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: { ...process.env, ...env } });
  t.is(status, 0, stderr);
  return Number(stdout);
}

test('the space for young objects does not grow while a server starts', async (t) => {
  t.is(await growth(t, []), 1);
});

test('a size that the operator has set counts', async (t) => {
  t.true((await growth(t, ['--max-semi-space-size=64'])) > 1);
  t.true((await growth(t, [], { NODE_OPTIONS: '--max-semi-space-size=64' })) > 1);
});

test('it grows while a large store is loaded, and no more afterwards', async (t) => {
  const program = `
    import { setImmediate as pause } from 'node:timers/promises';
    import { getHeapSpaceStatistics } from 'node:v8';
    import { growYoungHeapWithStore, keepYoungHeapSmall } from '${join(repository, 'server/src/cli/young-heap.ts')}';
    const size = () => getHeapSpaceStatistics().find((each) => each.space_name === 'new_space').space_size;
    const kept = [];
    const fill = () => kept.push(Array.from({ length: 100_000 }, (_, at) => ({ at, of: kept.length })));
    keepYoungHeapSmall();
    const before = size();
    let largest = before;
    fill();
    const small = size();
    await growYoungHeapWithStore(async () => {
      for (let part = 0; part < 40; part += 1) {
        fill();
        largest = Math.max(largest, size());
        await pause();
      }
    });
    const loaded = size();
    for (let part = 0; part < 5; part += 1) fill();
    console.log(JSON.stringify({ small: small / before, grown: largest > before, later: size() <= loaded }));`;
  const words = ['--conditions=@signet/source', '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: process.env });
  t.is(status, 0, stderr);
  t.deepEqual(JSON.parse(stdout), { small: 1, grown: true, later: true });
});
