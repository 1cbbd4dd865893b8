import { createWorkProcess, JobError, type WorkProcessOptions } from '@signet/server/work-process/work-process';
import test, { type ExecutionContext } from 'ava';
import { until } from '#support/until';

interface Who {
  readonly pid: number;
}

function processFor(t: ExecutionContext, more: Partial<WorkProcessOptions> = {}) {
  const helper = createWorkProcess({
    module: new URL('./job-module.ts', import.meta.url),
    idleMs: 60_000,
    maxJobMs: 100_000,
    maxHeapMiB: 64,
    maxWaiting: 2,
    maxWaitingOfLane: 100,
    ...more,
  });
  t.teardown(() => helper.close());
  const who = async () => (await helper.run('who', 'one')) as Who;
  const failure = async (work: Promise<unknown>) => (await t.throwsAsync(work, { instanceOf: JobError })).reason;
  const run = (job: unknown, signal?: AbortSignal, lane = 'one') => helper.run(job, lane, signal);
  return { run, close: () => helper.close(), who, failure };
}

function isRunning({ pid }: Who): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('jobs are answered one after the other by one process, and what they throw is thrown', async (t) => {
  const { run, who } = processFor(t);
  const first = await who();
  t.not(first.pid, process.pid);
  t.deepEqual(await Promise.all([run(1), run(2)]), [1, 2]);
  await t.throwsAsync(run('throw'), { instanceOf: TypeError, message: 'as told' });
  t.deepEqual(await who(), first);
});

test('a job that takes too much memory ends with its process, and the next one has another', async (t) => {
  const { run, failure, who } = processFor(t);
  const first = await who();
  const [reason, next] = await Promise.all([failure(run('memory')), run('next')]);
  t.deepEqual([reason, next], ['aborted', 'next']);
  t.not((await who()).pid, first.pid);
});

test('a job that takes too long ends with its process', async (t) => {
  const { run, failure, who } = processFor(t, { maxJobMs: 20_000 });
  const first = await who();
  t.is(await failure(run('spin')), 'time');
  await until('the process has ended', () => !isRunning(first), 60_000);
});

test('a process that ends by itself is started again, during a job and between two', async (t) => {
  const { run, failure, who } = processFor(t);
  t.is(await failure(run('exit')), 'ended');
  const second = await who();
  process.kill(second.pid, 'SIGKILL');
  await until('the process has ended', () => !isRunning(second), 60_000);
  const third = await until('another one answers', () => who().catch(() => undefined), 60_000);
  t.not(third.pid, second.pid);
});

test('a cancelled job ends with its process, and one that was never begun is not begun', async (t) => {
  const { run, failure, who } = processFor(t);
  const first = await who();
  const gone = new AbortController();
  const job = failure(run('spin', gone.signal));
  gone.abort();
  t.is(await job, 'cancelled');
  await until('the process has ended', () => !isRunning(first), 60_000);
  t.is(await failure(run('never begun', AbortSignal.abort())), 'cancelled');
});

test('at most maxWaiting jobs wait; one that is cancelled while it waits makes room', async (t) => {
  const { run, failure } = processFor(t);
  const [running, waiting] = [new AbortController(), new AbortController()];
  const first = failure(run('spin', running.signal));
  const second = failure(run('second', waiting.signal));
  const third = run('third');
  t.is(await failure(run('one too many')), 'busy');
  waiting.abort();
  t.is(await second, 'cancelled');
  const fourth = run('fourth');
  running.abort();
  t.is(await first, 'cancelled');
  t.deepEqual(await Promise.all([third, fourth]), ['third', 'fourth']);
});

test('lanes take turns, and none of them has more than its share of the places', async (t) => {
  const { run, failure } = processFor(t, { maxWaiting: 5, maxWaitingOfLane: 3 });
  const running = new AbortController();
  const first = failure(run('spin', running.signal, 'busy'));
  const order: unknown[] = [];
  const wait = async (job: string, lane: string) => order.push(await run(job, undefined, lane));
  const crowd = ['b1', 'b2', 'b3'].map((job) => wait(job, 'busy'));
  t.is(await failure(run('b4', undefined, 'busy')), 'share');
  const others = [wait('c1', 'calm'), wait('d1', 'other')];
  t.is(await failure(run('d2', undefined, 'other')), 'busy');
  running.abort();
  t.is(await first, 'cancelled');
  await Promise.all([...crowd, ...others]);
  t.deepEqual(order, ['c1', 'b1', 'd1', 'b2', 'b3']);
});

test('an idle process ends', async (t) => {
  const first = await processFor(t, { idleMs: 1 }).who();
  await until('the process has ended', () => !isRunning(first), 60_000);
  t.pass();
});

test('a closed one answers nothing, and leaves nothing behind', async (t) => {
  const { run, close, failure, who } = processFor(t);
  const first = await who();
  const cut = failure(run('spin'));
  await close();
  t.deepEqual([await cut, isRunning(first)], ['ended', false]);
  t.is(await failure(run(1)), 'ended');
});
