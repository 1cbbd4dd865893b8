import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { PostgresConnections } from './connections.ts';

/** The channel of hints that something has changed. They say nothing more: what is true stands in the tables. */
const channel = 'signet';

/** For the transaction of a change. */
export const tellOthers = `select pg_notify('${channel}', '')`;

/** A hint to oneself that does not arrive within this time shows that the connection goes through a pooler, in milliseconds. */
const selfTestMs = 1000;
/** The pause before the next attempt to listen, with full jitter. */
const pauseMs = 1000;

/** Hears of the changes of other servers, over a connection of its own. */
export interface Listener {
  onHint(listener: () => void): void;
  close(): Promise<void>;
}

interface ListenerDeps {
  readonly connections: PostgresConnections;
  /** Told when hints do not arrive, and what to do. */
  readonly onProblem: (message: string) => void;
}

/** Listens until it is closed: a connection that is lost is made again, and what may have been missed meanwhile is a hint. */
export function listen({ connections, onProblem }: ListenerDeps): Listener {
  const hints: (() => void)[] = [];
  const closing = new AbortController();
  const { signal } = closing;
  let client: pg.Client | undefined;
  let isFirst = true;
  const hint = (): void => {
    for (const listener of hints) listener();
  };

  const listenOnce = async (): Promise<void> => {
    client = await connections.single();
    const lost = Promise.withResolvers<void>();
    const test = `test-${randomBytes(8).toString('hex')}`;
    const heard = Promise.withResolvers<boolean>();
    client.on('end', () => lost.resolve());
    client.on('error', () => lost.resolve());
    client.on('notification', ({ payload }) => {
      if (payload === test) heard.resolve(true);
      else if (payload === '') hint();
    });
    try {
      await client.query(`listen ${channel}`);
      if (!isFirst) hint();
      isFirst = false;
      await requireHints(test, heard);
      await lost.promise;
    } finally {
      await client.end().catch(() => undefined);
    }
  };

  const requireHints = async (test: string, heard: PromiseWithResolvers<boolean>): Promise<void> => {
    const sender = await connections.connect();
    try {
      await sender.query('select pg_notify($1, $2)', [channel, test]);
    } finally {
      sender.release();
    }
    const timer = setTimeout(() => heard.resolve(false), selfTestMs);
    const isHeard = await heard.promise;
    clearTimeout(timer);
    if (!isHeard && !signal.aborted) {
      onProblem(
        'changes of other servers are not told: `store.postgres.listen` does not work through a pooler of transactions: connect directly, or set it to false',
      );
    }
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
      await client?.end().catch(() => undefined);
      await running;
    },
  };
}
