import type { Environment } from '../config/env.ts';

const intervalMs = 300;

/**
 * A signal that aborts when npm has gone: npm passes SIGTERM on to the shell that it runs scripts in, and that shell ends without
 * telling us. Outside npm it never aborts, so that `signet dev &` outlives its terminal.
 */
export function parentWatch(environment: Environment): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const parent = process.ppid;
  const isUnderNpm = environment['npm_command'] !== undefined;
  const timer = setInterval(() => {
    if (isUnderNpm && process.ppid !== parent) controller.abort();
  }, intervalMs);
  timer.unref();
  return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
