import { mock } from 'node:test';
import test from 'ava';

/* The page asks its worker through this: one question after the other, each with a deadline. */

const file = new URL('../../docs/site/playground/evaluator.ts', import.meta.url).href;
const { Evaluator }: typeof import('../../docs/site/playground/evaluator.ts') = await import(file);

const state = (documents: string) => ({
  kind: 'evaluate' as const,
  state: { documents, tests: '', question: { principal: '', action: '', resource: '', context: '' } },
});

/** Workers that keep what they are asked. */
function workers() {
  const started: (EventTarget & { asked: unknown[]; isEnded: boolean })[] = [];
  const start = () => {
    const worker = Object.assign(new EventTarget(), {
      asked: [] as unknown[],
      isEnded: false,
      postMessage: (request: unknown) => worker.asked.push(request),
      terminate: () => {
        worker.isEnded = true;
      },
    });
    started.push(worker);
    return worker as unknown as ReturnType<ConstructorParameters<typeof Evaluator>[0]>;
  };
  const answer = (worker: EventTarget | undefined, message: string) =>
    worker?.dispatchEvent(Object.assign(new Event('message'), { data: { kind: 'failed', message } }));
  return { started, start, answer };
}

test.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.afterEach.always(() => mock.timers.reset());

test.serial('questions are asked one after the other; a newer evaluation takes the place of one that waits', (t) => {
  const { started, start, answer } = workers();
  const evaluator = new Evaluator(start);
  const told: string[] = [];
  for (const name of ['a', 'b', 'c']) evaluator.ask(state(name), () => told.push(name));
  evaluator.ask({ kind: 'open', fragment: '#' }, () => told.push('open'));
  const [worker] = started;
  t.deepEqual(worker?.asked, [state('a')]);
  answer(worker, '1');
  answer(worker, '2');
  answer(worker, '3');
  t.deepEqual(worker?.asked, [state('a'), state('c'), { kind: 'open', fragment: '#' }]);
  t.deepEqual(told, ['a', 'c', 'open']);
  t.is(started.length, 1);
});

test.serial('what takes too long is ended with its worker, and the next question has another', (t) => {
  const { started, start, answer } = workers();
  const evaluator = new Evaluator(start);
  const told: unknown[] = [];
  evaluator.ask(state('slow'), (reply) => told.push(reply));
  evaluator.ask(state('next'), (reply) => told.push(reply));
  mock.timers.tick(60_000);
  t.deepEqual(told, [{ kind: 'failed', message: 'this takes too long: the documents are too large' }]);
  t.deepEqual(
    started.map(({ isEnded, asked }) => [isEnded, asked]),
    [
      [true, [state('slow')]],
      [false, [state('next')]],
    ],
  );
  answer(started[1], 'fine');
  t.is(told.length, 2);
  mock.timers.tick(60_000);
  t.is(told.length, 2, 'the deadline ended with the answer');
});

test.serial('a worker that fails is told of and replaced', (t) => {
  const { started, start } = workers();
  const evaluator = new Evaluator(start);
  const told: unknown[] = [];
  evaluator.ask(state('a'), (reply) => told.push(reply));
  started[0]?.dispatchEvent(new Event('error'));
  t.like(told, [{ kind: 'failed' }]);
  evaluator.ask(state('b'), (reply) => told.push(reply));
  t.is(started.length, 2);
  evaluator.close();
  t.true(started[1]?.isEnded);
});
