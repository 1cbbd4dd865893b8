import type { Worker } from 'node:cluster';
import { lostLines } from '@signet/policy-engine/internal/output';
import { z } from 'zod';
import type { Logger } from '../logger.ts';
import { addUp, lasting, lostLinesMetric, type Reading, readingsSchema } from '../metrics/readings.ts';

/* The parent of several processes gives out the metrics of all. It asks each worker; one that does not answer in time is counted as it was when it
   last did, and what a worker had counted is kept when it ends. */

const readMetrics = z.object({ kind: z.literal('read-metrics') });
/** Message from a worker with its metrics. */
const metricsRead = z.object({ kind: z.literal('metrics-read'), readings: readingsSchema });

/** Timeout for a worker, in milliseconds: scrapers give up after ten seconds. */
const answerMs = 2000;

/** The part of `process` that a worker talks through. */
interface WorkerChannel {
  readonly send: (message: unknown) => void;
  readonly on: (event: 'message', listener: (message: unknown) => void) => unknown;
}

/** Message of a worker to its parent. */
interface OwnReadings {
  /** Sets the function by which this process reads its metrics. */
  answerWith(read: () => Promise<readonly object[]>): void;
  /** Tells once more what was counted: this process ends. */
  tellLast(): Promise<void>;
}

export function workerReadings(channel: WorkerChannel): OwnReadings {
  let read: (() => Promise<readonly object[]>) | undefined;
  const tell = async (): Promise<void> => {
    if (read !== undefined) channel.send({ kind: 'metrics-read', readings: await read() });
  };
  const tellNow = () => tell().catch(() => undefined);
  channel.on('message', (message) => {
    if (readMetrics.safeParse(message).success) void tellNow();
  });
  return {
    answerWith: (reader) => {
      read = reader;
      // Announced only here: a request that comes while a process still loads its program is lost.
      void tellNow();
    },
    tellLast: tellNow,
  };
}

/** The part of a worker that its parent talks to. */
type WorkerEnd = Pick<Worker, 'send' | 'on' | 'isConnected'>;

interface Known {
  /** Undefined until it has said that it can be asked. */
  readings: readonly Reading[] | undefined;
  /** Fulfilled with the answer to the question under way; a worker that is busy is not asked a second time. */
  asked: PromiseWithResolvers<void> | undefined;
}

/** The metrics of all workers. */
interface WorkerReadings {
  join(worker: WorkerEnd): void;
  /** Readings of each process, those of ended ones together as one. Never waits longer than the deadline. */
  read(): Promise<readonly (readonly Reading[])[]>;
}

export function collectReadings(logger: Pick<Logger, 'warn'>, timeoutMs: number = answerMs): WorkerReadings {
  const workers = new Map<WorkerEnd, Known>();
  let ended: Promise<readonly Reading[]> = Promise.resolve([]);
  let reading: Promise<readonly (readonly Reading[])[]> | undefined;
  const ask = async ([worker, known]: [WorkerEnd, Known]): Promise<readonly Reading[]> => {
    if (known.readings === undefined) return [];
    if (known.asked === undefined && worker.isConnected()) {
      known.asked = Promise.withResolvers();
      worker.send({ kind: 'read-metrics' });
    }
    if (known.asked === undefined) return lasting(known.readings);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    await Promise.race([known.asked.promise, promise]);
    clearTimeout(timer);
    return known.asked === undefined ? known.readings : lasting(known.readings);
  };
  const readAll = async (): Promise<readonly (readonly Reading[])[]> => {
    const asked = [...workers].filter(([, { readings }]) => readings !== undefined);
    const heard = await Promise.all(asked.map(async (one) => ({ worker: one[0], readings: await ask(one) })));
    const silent = asked.filter(([, known]) => known.asked !== undefined).length;
    if (silent > 0) logger.warn({ silent }, 'processes did not report metrics in time');
    // Workers that ended meanwhile are counted only once.
    const alive = heard.filter(({ worker }) => workers.has(worker));
    return [
      ...alive.map(({ readings }) => readings),
      await ended,
      [workersGauge(alive.length - silent, silent), ownLostLines()],
    ];
  };
  return {
    join(worker) {
      const known: Known = { readings: undefined, asked: undefined };
      workers.set(worker, known);
      worker.on('message', (message: unknown) => {
        const answer = metricsRead.safeParse(message);
        if (!answer.success) return;
        known.readings = answer.data.readings;
        known.asked?.resolve();
        known.asked = undefined;
      });
      worker.on('exit', () => {
        workers.delete(worker);
        ended = ended.then((sum) => addUp(sum, known.readings ?? []).catch(() => sum));
        known.asked?.resolve();
        known.asked = undefined;
      });
    },
    read() {
      reading ??= readAll().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}

function workersGauge(answering: number, silent: number): Reading {
  return {
    name: 'signet_workers',
    help: 'Worker processes, by whether they reported metrics in time.',
    type: 'gauge',
    aggregator: 'sum',
    values: [
      { value: answering, labels: { state: 'answering' } },
      { value: silent, labels: { state: 'silent' } },
    ],
  };
}

/** Lost log lines of the parent itself, added to those of its workers. */
function ownLostLines(): Reading {
  return { ...lostLinesMetric, type: 'counter', aggregator: 'sum', values: [{ value: lostLines(), labels: {} }] };
}
