import cluster, { type Worker } from 'node:cluster';
import { systemClock } from '@signet/policy-engine/clock';
import { setOutputNonBlocking } from '@signet/policy-engine/internal/output';
import { z } from 'zod';
import { makeSigningKeys } from '../compose/make-signing-keys.ts';
import type { ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { privateKeysOf } from '../config/private-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { Logger } from '../logger.ts';
import { openStore } from '../store/open.ts';
import { createPeerRelay } from './worker-peers.ts';

/** Message of a worker that answers. */
const readyMessage = z.object({ baseUrl: z.string(), crlUrl: z.string().optional(), residentBytes: z.int() });
type Ready = z.infer<typeof readyMessage>;

interface RunningWorkers extends Ready {
  /** Memory of the largest worker. */
  readonly residentBytes: number;
  /** Fulfilled when all have ended after the order to stop. */
  readonly ended: Promise<void>;
}

/** A worker that dies is replaced, not sooner than this after it was started, in milliseconds. */
const restartMs = 1000;
/** Maximum restart delay: workers that die in a row are replaced after growing delays. */
const longestRestartMs = 30_000;
/** Life after which a worker is considered healthy. */
const healthyMs = 60_000;

/**
 * Settings of the allocator of glibc. Node reads each connection of TLS into 64 KiB that it keeps, and of which hardly any is used: in pages of its own
 * one of them stays resident, and among other memory four (docs/decisions/065). Elsewhere they mean nothing.
 */
const allocator = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TOP_PAD_: '16384' };

/** Starts a worker; the operator's own settings have precedence. */
function startWorker(): Worker {
  const worker = cluster.fork({ ...allocator, ...processEnvironment() });
  setOutputNonBlocking();
  return worker;
}

/** Delay before a worker is replaced that lived for `livedMs` as the `deaths`-th in a row; in milliseconds. */
export function restartDelay(livedMs: number, deaths: number): number {
  return Math.max(0, Math.min(longestRestartMs, restartMs * 2 ** (deaths - 1)) - livedMs);
}

/** Makes the store and the first keys before several processes would try to at once. */
export async function prepareStore(config: ServerConfig, logger: Logger): Promise<void> {
  const store = await openStore(config.store, { clock: systemClock, tellsTime: () => false });
  try {
    const privateKeys = privateKeysOf(config, store);
    await makeSigningKeys({ store: signingKeyStore(store, 'signet serve'), privateKeys, clock: systemClock }, logger);
  } finally {
    await store.close();
  }
}

/**
 * Runs this same command line in `count` processes that share the port; fulfilled when all answer. `onStart` is called for each, also for
 * replacements. Throws when the first one ends before.
 */
export async function runWorkers(
  count: number,
  logger: Logger,
  signal: AbortSignal,
  onStart?: (worker: Worker) => void,
): Promise<RunningWorkers> {
  const alive = new Set<Worker>();
  const relay = createPeerRelay();
  const ended = Promise.withResolvers<void>();
  let started = false;
  let deaths = 0;
  function start(): Worker {
    const worker = startWorker();
    const since = performance.now();
    alive.add(worker);
    relay.join(worker);
    onStart?.(worker);
    worker.on('exit', (code) => {
      alive.delete(worker);
      if (!signal.aborted && started) {
        const livedMs = performance.now() - since;
        deaths = livedMs < healthyMs ? deaths + 1 : 1;
        const delayMs = Math.round(restartDelay(livedMs, deaths));
        logger.error({ pid: worker.process.pid, code, delayMs }, 'worker ended, another is started');
        setTimeout(() => signal.aborted || start(), delayMs);
      } else if (alive.size === 0) ended.resolve();
    });
    return worker;
  }
  const stop = () => {
    if (alive.size === 0) ended.resolve();
    for (const worker of alive) worker.kill('SIGTERM');
  };
  signal.addEventListener('abort', stop, { once: true });
  // The workers hold the certificates: they are the ones to look at them again.
  const hangUp = () => {
    for (const worker of alive) worker.process.kill('SIGHUP');
  };
  process.on('SIGHUP', hangUp);
  const done = ended.promise.finally(() => process.off('SIGHUP', hangUp));
  const ready = await Promise.all(Array.from({ length: count }, () => whenReady(start())));
  started = true;
  const [first] = ready;
  if (first === undefined) throw new Error('worker cannot be started');
  return { ...first, residentBytes: Math.max(...ready.map((each) => each.residentBytes)), ended: done };
}

function whenReady(worker: Worker): Promise<Ready> {
  const { promise, resolve, reject } = Promise.withResolvers<Ready>();
  worker.on('message', (message: unknown) => {
    const parsed = readyMessage.safeParse(message);
    if (parsed.success) resolve(parsed.data);
  });
  worker.once('exit', (code) => reject(new Error(`a worker ended with status ${code} before it answered`)));
  return promise;
}
