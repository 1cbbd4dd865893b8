/* Runs one test file in this very process, without AVA's command line and its worker, and ends with the first test that fails. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Runner, refs } from '../runner/ava.ts';

const file = resolve(process.argv[2] ?? '');
const runner = new Runner({ file, projectDir: process.cwd(), failFast: true });
refs.runnerChain = runner.chain;

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
