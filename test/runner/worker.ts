/* Runs test files in this very process, one after another, for `pool.ts`. */
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type FileOptions, Runner, refs, type StateChange, serializeError } from './ava.ts';

let runner: Runner;
let file: string;
const rejected = new Map<Promise<unknown>, unknown>();

// A module is evaluated once, so each file imports the same `test`; it stands for that of the file at hand.
refs.runnerChain = new Proxy(() => {}, {
  apply: (_, self, args) => Reflect.apply(runner.chain as () => void, self, args),
  get: (_, name) => Reflect.get(runner.chain, name),
});

process.on('unhandledRejection', (reason, promise) => rejected.set(promise, reason));
process.on('rejectionHandled', (promise) => rejected.delete(promise));
process.on('uncaughtException', (error) => fail('uncaught-exception', error));
process.on('disconnect', () => process.exit());
process.on('message', (options: FileOptions) => void run(options));

async function run(options: FileOptions): Promise<void> {
  file = options.file;
  const environment = { ...process.env };
  const before = computedSeconds();
  runner = new Runner(options);
  runner.on('stateChange', ({ data }) => send(data));
  runner.on('error', ({ data }) => fail('internal-error', data));
  const finished = new Promise<void>((resolve) => runner.on('finish', resolve));
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    return fail('uncaught-exception', error);
  }
  // A test that waits for nothing lets the process end, which the runner notices.
  process.channel?.unref();
  await finished;
  process.channel?.ref();
  await setImmediate();
  for (const [, reason] of rejected)
    send({ type: 'unhandled-rejection', err: serializeError(reason, { testFile: file }) });
  rejected.clear();
  process.env = environment;
  send({ type: 'worker-finished', computed: computedSeconds() - before });
}

/** Processor time of this process and, on Linux, of its child processes that have ended. */
function computedSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (process.platform === 'linux' ? computedByChildren() : 0);
}

function computedByChildren(): number {
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(13, 15).map(Number);
  return (Number(user) + Number(system)) / 100;
}

function fail(type: string, error: unknown): void {
  send({ type, err: serializeError(error, { testFile: file }) });
  process.exit(1);
}

function send(change: StateChange): void {
  process.send?.(change);
}
