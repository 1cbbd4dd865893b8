/* Runs one test file in this very process, without AVA's command line and its worker, and ends with the first test that fails. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

interface StateChange {
  readonly data: { readonly type: string };
}

/** What we use of AVA that it does not export; its version is pinned. */
interface Runner {
  readonly chain: unknown;
  on(event: 'stateChange', listener: (change: StateChange) => void): void;
  on(event: 'finish' | 'error', listener: () => void): void;
}

const file = resolve(process.argv[2] ?? '');
const load = (name: string) => import(new URL(`../lib/${name}.js`, import.meta.resolve('ava')).href);
const [runnerModule, state, options, chalk] = await Promise.all(
  ['runner', 'worker/state', 'worker/options', 'chalk'].map(load),
);
const settings = { file, projectDir: process.cwd(), failFast: true };
options.set(settings);
chalk.set({ level: 0 });
const runner: Runner = new runnerModule.default(settings);
state.refs.runnerChain = runner.chain;

let passed = 0;
runner.on('stateChange', ({ data: { type } }) => {
  if (type === 'test-passed') passed += 1;
  if (type === 'test-failed' || type === 'hook-failed') process.exit(1);
});
runner.on('error', () => process.exit(1));
runner.on('finish', () => process.exit(passed > 0 ? 0 : 1));
// AVA wants a process with a parent to talk to; the way to it must not keep a test waiting that nothing ends.
process.channel?.unref();
await import(pathToFileURL(file).href);
