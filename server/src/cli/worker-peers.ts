import type { Worker } from 'node:cluster';
import { z } from 'zod';
import { notFollowed, type Peers } from '../base/peers.ts';

/* The processes of one server talk through their parent: a worker asks it to have the others read the store again, it asks each of them, and
   answers when the last one has. Every message carries the number that its sender gave to the question. */

/** Message from a worker: the others should read the store. */
const askOthers = z.object({ kind: z.literal('ask-others'), id: z.int() });
/** Message to a worker: whether all the others have. */
const othersDone = z.object({ kind: z.literal('others-done'), id: z.int(), ok: z.boolean() });
const readStore = z.object({ kind: z.literal('read-store'), id: z.int() });
/** Message from a worker: whether it has. */
const storeRead = z.object({ kind: z.literal('store-read'), id: z.int(), ok: z.boolean() });

/** Timeout of a process for the others, in milliseconds. */
const answerMs = 10_000;

/** The part of `process` that a worker talks through. */
interface WorkerChannel {
  readonly send: (message: unknown) => void;
  readonly on: (event: 'message', listener: (message: unknown) => void) => unknown;
}

/** Worker's view of the others. */
export interface WorkerPeers extends Peers {
  /** Sets the function by which this process reads its store. Earlier requests wait for it. */
  answerWith(refresh: () => Promise<void>): void;
}

/** The other workers, seen from one. */
export function workerPeers(channel: WorkerChannel, timeoutMs: number = answerMs): WorkerPeers {
  const waiting = new Map<number, (ok: boolean) => void>();
  const ready = Promise.withResolvers<() => Promise<void>>();
  let lastId = 0;
  channel.on('message', (message) => {
    const answer = othersDone.safeParse(message);
    if (answer.success) waiting.get(answer.data.id)?.(answer.data.ok);
    const question = readStore.safeParse(message);
    if (!question.success) return;
    const { id } = question.data;
    void ready.promise
      .then((refresh) => refresh())
      .then(
        () => channel.send({ kind: 'store-read', id, ok: true }),
        () => channel.send({ kind: 'store-read', id, ok: false }),
      );
  });
  return {
    answerWith: ready.resolve,
    refresh: async () => {
      lastId += 1;
      const id = lastId;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(resolve, timeoutMs, false);
      waiting.set(id, resolve);
      channel.send({ kind: 'ask-others', id });
      const ok = await promise;
      clearTimeout(timer);
      waiting.delete(id);
      if (!ok) throw notFollowed();
    },
  };
}

/** The part of a worker that its parent talks to. */
type WorkerEnd = Pick<Worker, 'send' | 'on' | 'isConnected'>;

/** Carries the questions of each worker that joins to all the others. A worker that ended has nothing to follow. */
export function createPeerRelay(): { join(worker: WorkerEnd): void } {
  const workers = new Set<WorkerEnd>();
  const waiting = new Map<number, { readonly worker: WorkerEnd; readonly done: (ok: boolean) => void }>();
  let lastId = 0;
  const ask = (worker: WorkerEnd): Promise<boolean> => {
    lastId += 1;
    const id = lastId;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.set(id, { worker, done: resolve });
    if (worker.isConnected()) worker.send({ kind: 'read-store', id });
    else resolve(true);
    return promise.finally(() => waiting.delete(id));
  };
  return {
    join(worker) {
      workers.add(worker);
      worker.on('exit', () => {
        workers.delete(worker);
        for (const question of waiting.values()) if (question.worker === worker) question.done(true);
      });
      worker.on('message', (message: unknown) => {
        const answer = storeRead.safeParse(message);
        // Answers are accepted only from processes that were asked.
        const question = answer.success ? waiting.get(answer.data.id) : undefined;
        if (answer.success && question?.worker === worker) question.done(answer.data.ok);
        const order = askOthers.safeParse(message);
        if (!order.success) return;
        const others = [...workers].filter((other) => other !== worker);
        void Promise.all(others.map(ask)).then((answers) => {
          if (!worker.isConnected()) return;
          worker.send({ kind: 'others-done', id: order.data.id, ok: answers.every((ok) => ok) });
        });
      });
    },
  };
}
