/** A signal that aborts when the process is asked to end, and that gives the default behaviour back when disposed. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

const endings = ['SIGINT', 'SIGTERM'] as const;

/** Listens for SIGINT and SIGTERM. Asked again, the process goes on stopping in order. */
export function stopSignal(): StopSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const name of endings) process.on(name, stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of endings) process.off(name, stop);
    },
  };
}
