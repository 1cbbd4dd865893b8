import type { Logger } from '../logger.ts';

/** Counts connections that never got to a request or were refused, and says how many of each kind, once a minute: never a line for each. */
export interface ConnectionFailures {
  /** `kind` is one of the server's own words or a code of Node or OpenSSL, never what a client sent. */
  count(kind: string): void;
  /** Logs the remaining failures, and stops. */
  close(): void;
}

const intervalMs = 60_000;
/** Maximum of kinds, above their real number; further ones are counted together. */
const maxKinds = 32;
const otherKinds = 'other';

/** The first failure after a quiet minute is said at once, those that follow together a minute later. */
export function countConnectionFailures(logger: Pick<Logger, 'warn'>): ConnectionFailures {
  let counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  function report(): void {
    timer = undefined;
    if (counts.size === 0) return;
    const said = Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
    counts = new Map();
    timer = setTimeout(report, intervalMs).unref();
    logger.warn({ connections: said }, 'connections failed or were refused');
  }
  return {
    count(kind) {
      const key = counts.has(kind) || counts.size < maxKinds ? kind : otherKinds;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (timer === undefined) report();
    },
    close() {
      clearTimeout(timer);
      report();
      clearTimeout(timer);
    },
  };
}
