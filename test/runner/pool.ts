/*
 * Replaces AVA's module `fork`, which starts a process for each test file. Here one process runs the files of a folder one after another: starting and
 * importing took more than half of the processor time of all tests.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileOptions, StateChange } from './ava.ts';

/** Files of a process: larger folders are divided, so that all processors have work. */
const maxFiles = 12;
/** Processes at the same time. */
const processes = Number(process.env['SIGNET_TEST_PROCESSES'] ?? availableParallelism());
/** Files listed at the end. */
const listed = Number(process.env['SIGNET_SLOWEST'] ?? 10);
const program = fileURLToPath(new URL('worker.ts', import.meta.url));

type Listener = (change: StateChange & { readonly testFile: string }) => void;

/** A test file as AVA knows it. */
class TestFile {
  readonly file: string;
  readonly threadId = 0;
  readonly promise: Promise<void>;
  readonly options: object;
  /** Seconds from begin to end, and seconds of processor time, with child processes that ended. */
  took = { passed: 0, computed: 0 };
  readonly #listeners: Listener[] = [];
  readonly #finish: () => void;
  #stop: (() => void) | undefined;
  #isGivenUp = false;

  constructor(file: string, options: object) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.file = file;
    this.promise = promise;
    this.#finish = resolve;
    this.options = { baseDir: process.cwd(), file, ...options };
  }

  onStateChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  onConnectSharedWorker(): void {}
  notifyOfPeerFailure(): void {}

  exit(): void {
    this.#isGivenUp = true;
    this.#stop?.();
  }

  tell(change: StateChange): void {
    for (const listener of this.#listeners) listener({ ...change, testFile: this.file });
  }

  /** Resolves once `worker` has run the file, or ended. */
  async runIn(worker: ChildProcess): Promise<void> {
    this.#stop = () => worker.kill();
    if (this.#isGivenUp) worker.kill();
    const tell = (change: StateChange) => this.tell(change);
    const written = (type: string) => (chunk: unknown) => this.tell({ type, chunk });
    const [stdout, stderr] = [written('worker-stdout'), written('worker-stderr')];
    const ended = Promise.withResolvers<void>();
    const begin = performance.now();
    const onMessage = (change: StateChange) => {
      tell(change);
      if (change.type !== 'worker-finished') return;
      this.took = { passed: (performance.now() - begin) / 1000, computed: Number(change['computed']) };
      ended.resolve();
    };
    const onExit = (code: number | null, signal: string | null) => {
      const failure = signal === null ? { nonZeroExitCode: code } : { signal };
      tell(this.#isGivenUp ? { type: 'worker-finished', forcedExit: true } : { type: 'worker-failed', ...failure });
      ended.resolve();
    };
    worker.on('message', onMessage).on('exit', onExit);
    worker.stdout?.on('data', stdout);
    worker.stderr?.on('data', stderr);
    worker.send(this.options);
    await ended.promise;
    worker.off('message', onMessage).off('exit', onExit);
    worker.stdout?.off('data', stdout);
    worker.stderr?.off('data', stderr);
    this.#finish();
  }
}

let waiting: TestFile[] = [];

/** Replacement of the default export of AVA's module `fork`. */
export function loadFork(file: string, options: FileOptions, nodeArguments: readonly string[]): TestFile {
  if (waiting.length === 0) setImmediate(() => void runAll(nodeArguments));
  const testFile = new TestFile(file, options);
  waiting.push(testFile);
  return testFile;
}

async function runAll(nodeArguments: readonly string[]): Promise<void> {
  // Several groups for each process, so that all of them end at about the same time.
  const size = Math.min(maxFiles, Math.ceil(waiting.length / (processes * 5)));
  const folders = [...Map.groupBy(waiting, ({ file }) => dirname(file)).values()];
  const groups = folders.flatMap((folder) => inGroups(folder, size));
  const files = waiting;
  waiting = [];
  process.once('exit', () => printSlowest(files));
  groups.sort((a, b) => b.length - a.length);
  const runGroups = async () => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) await runGroup(group, nodeArguments);
  };
  await Promise.all(Array.from({ length: processes }, runGroups));
}

async function runGroup(files: readonly TestFile[], nodeArguments: readonly string[]): Promise<void> {
  let worker = startWorker(nodeArguments);
  for (const file of files) {
    if (!worker.connected) worker = startWorker(nodeArguments);
    await file.runIn(worker);
  }
  if (!worker.connected) return;
  worker.disconnect();
  await once(worker, 'exit');
}

function printSlowest(files: readonly TestFile[]): void {
  const slowest = files.toSorted((a, b) => b.took.passed - a.took.passed).slice(0, listed);
  console.log(
    `\nSlowest of ${files.length} files: seconds, and seconds of processor time with child processes that ended`,
  );
  for (const { file, took } of slowest) {
    const [passed, computed] = [took.passed, took.computed].map((seconds) => seconds.toFixed(1).padStart(7));
    console.log(`${passed}${computed}  ${relative('', file)}`);
  }
}

function startWorker(nodeArguments: readonly string[]): ChildProcess {
  const worker = fork(program, {
    silent: true,
    env: { NODE_ENV: 'test', ...process.env },
    execArgv: [...nodeArguments, '--enable-source-maps'],
    serialization: 'advanced',
  });
  // What cannot be sent any more is told by its exit.
  return worker.on('error', () => undefined);
}

function inGroups(files: readonly TestFile[], most: number): TestFile[][] {
  const size = Math.ceil(files.length / Math.ceil(files.length / most));
  return [...Map.groupBy(files, (file) => Math.floor(files.indexOf(file) / size)).values()];
}
