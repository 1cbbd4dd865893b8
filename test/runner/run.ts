/* AVA's command line, with one process for the test files of a folder in place of one for each file. */
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';

const pool = `data:text/javascript,export { loadFork as default } from '${new URL('pool.ts', import.meta.url)}'`;
registerHooks({
  resolve: (name, context, next) =>
    name === './fork.js' && context.parentURL?.endsWith('/ava/lib/api.js') === true
      ? { url: pool, shortCircuit: true }
      : next(name, context),
});
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/compiled');
// Random cases: a rule that is gone fails in the first ones; `npx ava` runs more of them.
process.env['SIGNET_PROPERTY_RUNS'] ??= '500';
process.argv.push('--concurrency', '10000');
await import(new URL('cli.js', import.meta.resolve('ava')).href);
