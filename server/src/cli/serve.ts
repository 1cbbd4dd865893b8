import cluster from 'node:cluster';
import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import type { RunningServer } from '../compose/compose.ts';
import { giveOutMetrics } from '../compose/compose-metrics.ts';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { metricsListenerOf } from '../config/metrics-listener.ts';
import { createLogger, type Logger } from '../logger.ts';
import { requireUsableFiles } from './config/configured-files.ts';
import { keepServerCertificate } from './keep-server-certificate.ts';
import { warnOfMemory } from './memory.ts';
import { warnOfOpenFiles } from './open-files.ts';
import { parsePort } from './parse-port.ts';
import { action, configPathOf, print } from './run.ts';
import { stopSignal } from './stop-signal.ts';
import { tellSystemd } from './tell-systemd.ts';
import { type WorkerPeers, workerPeers } from './worker-peers.ts';
import { prepareStore, runWorkers } from './workers.ts';
import { boundYoungHeap, growYoungHeapWithStore } from './young-heap.ts';

interface Options {
  readonly host?: string;
  readonly port?: number;
  readonly workers?: string;
  readonly logLevel?: string;
  readonly json?: boolean;
}

/** `signet serve`: the token server, until SIGINT or SIGTERM. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('run the token server until SIGINT or SIGTERM')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 selects a free port', parsePort)
    .option('--workers <number>', 'number of worker processes that share the port')
    .option('--log-level <level>', 'debug, info, warn, error or silent')
    .option('--json', 'print one line of JSON when the server is ready')
    .action(
      action(async (options: Options, command: Command) => {
        const load = () => loadConfig(configPathOf(command), processEnvironment(), flagsOf(options));
        const config = load();
        const logger = createLogger(config.log.level);
        if (!cluster.isWorker) warnOfOpenFiles(config, logger);
        await using cleanup = new AsyncDisposableStack();
        const { signal } = cleanup.use(stopSignal());
        if (!cluster.isWorker) {
          cleanup.use(await keepServerCertificate(config, logger));
          // After it: a renewal that was cut short is brought to its end first.
          requireUsableFiles(config);
        }
        if (config.workers > 1 && cluster.isPrimary) {
          await prepareStore(config, logger);
          const metrics = cleanup.adopt(await metricsOfWorkers(config, logger), (open) => open?.close());
          const workers = await runWorkers(config.workers, logger, signal, metrics?.join);
          announce({ ...workers, metricsUrl: metrics?.url }, options.json);
          await tellSystemd(processEnvironment(), logger);
          warnOfMemory({ workers: config.workers, bytesEach: workers.residentBytes }, logger);
          await workers.ended;
          return;
        }
        await serve({ config, logger, signal, json: options.json, load });
      }),
    );
}

function flagsOf(options: Options): Record<string, unknown> {
  return {
    'listen.host': options.host,
    'listen.port': options.port,
    workers: options.workers === undefined ? undefined : Number(options.workers),
    'log.level': options.logLevel,
  };
}

/** Resources of a serving process, and the signal to stop. */
interface Serving {
  readonly config: ServerConfig;
  readonly logger: Logger;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly json: boolean | undefined;
  readonly load: () => ServerConfig;
}

async function serve({ config, logger, signal, json, load }: Serving): Promise<void> {
  const peers = cluster.isWorker ? peersOfThisWorker() : undefined;
  const readings = cluster.isWorker ? await readingsOfThisWorker(config) : undefined;
  // Not needed by the process that only watches over its workers.
  const { createServer } = await import('../compose/compose.ts');
  const options = {
    logger,
    clock: systemClock,
    ...(peers !== undefined && { peers }),
    tellMetrics: readings?.answerWith,
  };
  const server = await growYoungHeapWithStore(() => createServer(config, options));
  peers?.answerWith(server.refresh);
  const onHangUp = () => checkAgain(load, server.reload, logger);
  process.on('SIGHUP', onHangUp);
  const { baseUrl, crlUrl, metricsUrl } = server;
  const residentBytes = process.memoryUsage.rss();
  if (cluster.isWorker) process.send?.({ baseUrl, crlUrl, residentBytes });
  else {
    announce({ baseUrl, crlUrl, metricsUrl }, json);
    await tellSystemd(processEnvironment(), logger);
    warnOfMemory({ workers: 1, bytesEach: residentBytes }, logger);
  }
  boundYoungHeap();
  await aborted(signal);
  process.off('SIGHUP', onHangUp);
  logger.info('stopping');
  await server.close();
  await readings?.tellLast();
  if (cluster.isWorker) process.disconnect?.();
}

/** Metrics of all workers, served by this process; undefined where none are configured: then their library is not loaded. */
async function metricsOfWorkers(config: ServerConfig, logger: Logger) {
  if (metricsListenerOf(config) === undefined) return undefined;
  const { collectReadings } = await import('./worker-readings.ts');
  const { join, read } = collectReadings(logger);
  const outlet = await giveOutMetrics({ config, logger, read });
  return { join, url: outlet?.url, close: async () => outlet?.close() };
}

async function readingsOfThisWorker(config: ServerConfig) {
  if (metricsListenerOf(config) === undefined) return undefined;
  const { workerReadings } = await import('./worker-readings.ts');
  return workerReadings(workerChannel);
}

function peersOfThisWorker(): WorkerPeers {
  return workerPeers(workerChannel);
}

const workerChannel = {
  // A failed message needs no handling: the parent has ended, and this process ends with it.
  send: (message: unknown) => process.connected && process.send?.(message, undefined, {}, () => undefined),
  on: (event: 'message', listener: (message: unknown) => void) => process.on(event, listener),
};

/** SIGHUP: certificates are reloaded; the configuration is only checked, its changes count from the next start. */
function checkAgain(load: () => ServerConfig, reload: () => void, logger: Logger): void {
  try {
    load();
    logger.info('configuration is valid, changes take effect at the next start');
  } catch (error) {
    logger.error({ error: String(error) }, 'configuration is not valid, the one in force stays');
  }
  reload();
}

type Announced = Pick<RunningServer, 'baseUrl' | 'crlUrl' | 'metricsUrl'>;

function announce({ baseUrl, crlUrl, metricsUrl }: Announced, json: boolean | undefined): void {
  const lists = crlUrl === undefined ? '' : `, revocation lists at ${crlUrl}`;
  const metrics = metricsUrl === undefined ? '' : `, metrics at ${metricsUrl}`;
  const all = { baseUrl, crlUrl, metricsUrl, pid: process.pid };
  print(json === true ? all : `serving ${baseUrl}${lists}${metrics}`, json);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
