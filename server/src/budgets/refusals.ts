import type { Logger } from '../logger.ts';
import type { Refusal } from './budgets.ts';

/** Counter of refusals: one log line a minute, never a line for each. */
export interface Refusals {
  /** A request was answered 429. */
  request(refusal: Refusal): void;
  /** A connection has to wait before its handshake. */
  waiting(refusal: Refusal): void;
  /** A connection was closed before its handshake. */
  connection(refusal: Refusal): void;
  /** A connection of a listed balancer was closed because of its PROXY header. */
  header(balancer: string, reason: string): void;
  /** Reports the counts since the last report; nothing if there are none. */
  report(): void;
  /** Reports the rest, and stops counting. */
  close(): void;
}

const intervalMs = 60_000;
/** Maximum of names counted one by one between two reports; the others are counted together. */
const maxNames = 1000;
const maxNamesReported = 10;
const others = 'others';

class Counts {
  #counts = new Map<string, number>();

  add(name: string): void {
    const key = this.#counts.has(name) || this.#counts.size < maxNames ? name : others;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** The number of all, and of those who have most; starts again. */
  take(): { readonly total: number; readonly most: Readonly<Record<string, number>> } {
    const sorted = [...this.#counts].sort(([, one], [, other]) => other - one);
    this.#counts = new Map();
    return {
      total: sorted.reduce((sum, [, count]) => sum + count, 0),
      most: Object.fromEntries(sorted.slice(0, maxNamesReported)),
    };
  }
}

export function countRefusals(logger: Pick<Logger, 'warn'>): Refusals {
  const requests = new Counts();
  const waiting = new Counts();
  const connections = new Counts();
  const headers = new Counts();
  const label = ({ payer, name, over }: Refusal) => `${payer} ${name} (${over})`;
  const lines = [
    ['refused', requests, 'requests were refused (429): budgets are used up'],
    ['waited', waiting, 'connections waited for their handshake: budgets are used up'],
    ['refused', connections, 'connections were closed before their handshake: budgets are used up'],
    ['refused', headers, 'connections of listed balancers were closed: no valid PROXY protocol v2 header'],
  ] as const;
  const report = () => {
    for (const [what, counts, text] of lines) {
      const { total, most } = counts.take();
      if (total > 0) logger.warn({ [what]: total, most }, text);
    }
  };
  const timer = setInterval(report, intervalMs).unref();
  return {
    request: (refusal) => requests.add(label(refusal)),
    waiting: (refusal) => waiting.add(label(refusal)),
    connection: (refusal) => connections.add(label(refusal)),
    header: (balancer, reason) => headers.add(`${balancer}: ${reason}`),
    report,
    close: () => {
      clearInterval(timer);
      report();
    },
  };
}
