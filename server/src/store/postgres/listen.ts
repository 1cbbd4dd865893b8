import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { PostgresConnections } from './connections.ts';

/** The channel of hints that something has changed. They say nothing more: what is true stands in the tables. */
const channel = 'signet';

/** Statement in the transaction of a change. */
export const tellOthers = `select pg_notify('${channel}', '')`;

/** A hint to oneself that does not arrive within this time shows that the connection goes through a pooler, in milliseconds. */
const selfTestMs = 1000;
const sendTimeoutMs = 5000;
const silent =
  'changes of other servers are not told: `store.postgres.listen` does not work through a pooler of transactions: connect directly, or set it to false';
/** The pause before the next attempt to listen, with full jitter. */
const pauseMs = 1000;

/** Hears of the changes of other servers, over a connection of its own. */
export interface Listener {
  onHint(listener: () => void): void;
  close(): Promise<void>;
}

interface ListenerDeps {
  readonly connections: PostgresConnections;
  /** Called when hints do not arrive, with advice. */
  readonly onProblem: (message: string) => void;
}

/** Listens until it is closed: a connection that is lost is made again, and what may have been missed meanwhile is a hint. */
export function listen({ connections, onProblem }: ListenerDeps): Listener {
  const hints: (() => void)[] = [];
  const closing = new AbortController();
  const { signal } = closing;
  let isFirst = true;
  const hint = (): void => {
    for (const listener of hints) listener();
  };

  const listenOnce = async (): Promise<void> => {
    const { client, end } = await connections.single();
    const over = Promise.withResolvers<void>();
    const stop = (): void => over.resolve();
    const test = `test-${randomBytes(8).toString('hex')}`;
    const heard = Promise.withResolvers<true>();
    signal.addEventListener('abort', stop, { once: true });
    client.on('end', stop);
    client.on('error', stop);
    client.on('notification', ({ payload }) => {
      if (payload === test) heard.resolve(true);
      else if (payload === '') hint();
    });
    try {
      if (signal.aborted) return;
      await client.query(`listen ${channel}`);
      if (!isFirst) hint();
      isFirst = false;
      await requireHints(test, [heard.promise, over.promise]);
      await over.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      end();
    }
  };

  /** Waits until the hint to oneself arrives, the connection is over, or the time is. */
  const requireHints = async (test: string, ends: readonly Promise<unknown>[]): Promise<void> => {
    await tell(connections, test);
    const timeUp = new AbortController();
    const isLate = sleep(selfTestMs, 'late', { signal: timeUp.signal }).catch(() => undefined);
    const end = await Promise.race([...ends, isLate]);
    timeUp.abort();
    if (end === 'late') onProblem(silent);
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await listenOnce().catch(() => undefined);
      await sleep(Math.random() * pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };

  const running = run();
  return {
    onHint: (listener) => void hints.push(listener),
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

/** Notifies over a connection of the pool, like the hints of changes. */
async function tell(connections: PostgresConnections, payload: string): Promise<void> {
  const sender = await connections.connect();
  let isBroken = true;
  try {
    const values = [channel, payload];
    await sender.query({ text: 'select pg_notify($1, $2)', values, query_timeout: sendTimeoutMs } as pg.QueryConfig);
    isBroken = false;
  } finally {
    sender.release(isBroken);
  }
}
