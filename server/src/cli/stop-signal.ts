import { endWithoutReaders } from '@signet/policy-engine/internal/output';

/**
 * A signal that aborts when the process is asked to end. Dispose it when the work is done: it gives the default behaviour back, and after such an
 * order the process ends although its output is not read.
 */
interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

const endings = ['SIGINT', 'SIGTERM'] as const;

/** Signals that come together are one order: a terminal, npm and the parent process each pass Ctrl-C on. In milliseconds. */
const togetherMs = 500;

/** Listens for SIGINT and SIGTERM. Asked again later, the process ends at once, by that signal. */
export function stopSignal(): StopSignal {
  const controller = new AbortController();
  let askedAt: number | undefined;
  const forget = () => {
    for (const name of endings) process.off(name, stop);
  };
  function stop(name: NodeJS.Signals): void {
    const now = performance.now();
    askedAt ??= now;
    controller.abort();
    if (now - askedAt < togetherMs) return;
    forget();
    process.kill(process.pid, name);
  }
  for (const name of endings) process.on(name, stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      forget();
      if (controller.signal.aborted) endWithoutReaders();
    },
  };
}
