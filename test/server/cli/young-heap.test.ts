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

/* While old objects are marked V8 lets the space exceed its capacity, so what it goes back to is compared, not what it happens to be. */
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
    fill();
    const small = size();
    let loaded = before;
    await growYoungHeapWithStore(async () => {
      for (let part = 0; part < 100 && loaded <= before; part += 1) {
        await pause();
        fill();
        loaded = size();
      }
    });
    const later = [];
    for (let part = 0; part < 40; part += 1) {
      fill();
      later.push(size());
      await pause();
    }
    const settled = Math.min(...later.slice(10));
    console.log(JSON.stringify({ small: small / before, grown: loaded > before, later: settled <= loaded }));`;
  const words = ['--conditions=@signet/source', '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: process.env });
  t.is(status, 0, stderr);
  t.deepEqual(JSON.parse(stdout), { small: 1, grown: true, later: true });
});

/* So much survives each collection that the space would grow at every one: a bound that is looked at too late is exceeded. */
test('with the load it grows to what is enough and not beyond', async (t) => {
  const program = `
    import { setImmediate as pause } from 'node:timers/promises';
    import { getHeapSpaceStatistics } from 'node:v8';
    import { boundYoungHeap, keepYoungHeapSmall } from '${join(repository, 'server/src/cli/young-heap.ts')}';
    const half = () => {
      const young = getHeapSpaceStatistics().find((each) => each.space_name === 'new_space');
      return (young.space_used_size + young.space_available_size) / 2 ** 20;
    };
    keepYoungHeapSmall();
    const before = half();
    boundYoungHeap();
    const held = [];
    const sizes = [];
    for (let turn = 0; turn < 4000; turn += 1) {
      held[turn % 50] = Array.from({ length: 500 }, (_, at) => ({ at, turn }));
      sizes.push(half());
      await pause();
    }
    const largest = Math.max(...sizes);
    console.log(JSON.stringify({ grown: largest > before, megabytes: Math.round(largest) }));`;
  const words = ['--conditions=@signet/source', '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: process.env });
  t.is(status, 0, stderr);
  t.deepEqual(JSON.parse(stdout), { grown: true, megabytes: 4 });
});

test('old objects are not marked bit by bit while a store is loaded, and are again afterwards', async (t) => {
  const program = `
    import { constants, PerformanceObserver } from 'node:perf_hooks';
    import { setImmediate as pause } from 'node:timers/promises';
    import { growYoungHeapWithStore } from '${join(repository, 'server/src/cli/young-heap.ts')}';
    let marked = 0;
    const count = (list) => {
      for (const { detail } of list.getEntries()) marked += detail.kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL;
    };
    new PerformanceObserver(count).observe({ type: 'gc' });
    const kept = [];
    const fill = async (parts) => {
      for (let part = 0; part < parts; part += 1) {
        kept.push(Array.from({ length: 100_000 }, (_, at) => ({ at, of: kept.length })));
        await pause();
      }
    };
    await growYoungHeapWithStore(() => fill(40));
    await pause();
    const meanwhile = marked;
    for (let round = 0; round < 20 && marked === 0; round += 1) await fill(10);
    console.log(JSON.stringify({ meanwhile, afterwards: marked > 0 }));`;
  const words = ['--conditions=@signet/source', '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: process.env });
  t.is(status, 0, stderr);
  t.deepEqual(JSON.parse(stdout), { meanwhile: 0, afterwards: true });
});
