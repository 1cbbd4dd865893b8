import type { Clock } from '@signet/policy-engine/clock';
import type { ServerConfig } from '../config/config.ts';
import { metricsListenerOf } from '../config/metrics-listener.ts';
import type { CallerClocks } from '../http/caller-clocks.ts';
import type { startMetricsServer } from '../http/metrics-server.ts';
import { signingOrder } from '../keys/key-life.ts';
import type { Logger } from '../logger.ts';
import { type AroundStore, observedStore } from '../metrics/observed-store.ts';
import type { ServerMetrics } from '../metrics/server-metrics.ts';
import type { Store } from '../model/store.ts';
import type { Observer, ServerState, UnreadyReason } from '../observer.ts';
import type { LiveSnapshot } from '../snapshot/live-snapshot.ts';
import type { StoreWatch } from '../store-watch/store-watch.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { CrlPublisher } from '../x509/crl-publisher.ts';
import { issuerLife } from '../x509/issuer-life.ts';
import type { Issuers } from '../x509/issuers.ts';

/** Consumer of a process's metrics, in place of a listener of its own. */
export type TellMetrics = (read: () => Promise<readonly object[]>) => void;

interface OpenMetrics {
  readonly observer: ServerMetrics['observer'];
  /** Starts serving. Returns the address; undefined where another process does that. Throws what listening throws. */
  giveOut(parts: StateParts): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Undefined where the configuration asks for no metrics. The library is loaded only where it is used. */
export async function openMetrics(
  config: ServerConfig,
  logger: Logger,
  tell: TellMetrics | undefined,
): Promise<OpenMetrics | undefined> {
  if (metricsListenerOf(config) === undefined) return undefined;
  const { createServerMetrics } = await import('../metrics/server-metrics.ts');
  const { observer, follow, read } = createServerMetrics();
  let server: MetricsOutlet | undefined;
  return {
    observer,
    async giveOut(parts) {
      follow(() => stateOfServer(parts));
      if (tell === undefined) server = await giveOutMetrics({ config, logger, read: async () => [await read()] });
      else tell(read);
      return server?.url;
    },
    close: async () => server?.close(),
  };
}

/** Store with measurements for the observer and spans for tracing. */
export function watchedStore(store: Store, observer: Observer | undefined, tracing: Tracing | undefined): Store {
  if (observer === undefined && tracing === undefined) return store;
  const span: AroundStore = (operation, work) =>
    tracing === undefined ? work() : tracing.around('signet.store', { 'db.operation.name': operation }, work);
  return observedStore(store, observer, async (operation, work) => {
    const started = performance.now();
    try {
      return await span(operation, work);
    } finally {
      observer?.storeUsed(operation, (performance.now() - started) / 1000);
    }
  });
}

/** The parts of a server that its gauges look at. */
interface StateParts {
  readonly store: Pick<Store, 'condition' | 'connections' | 'aheadOfDatabase'>;
  readonly storeWatch: Pick<StoreWatch, 'clock'>;
  readonly callerClocks: Pick<CallerClocks, 'disagree'>;
  readonly live: Pick<LiveSnapshot, 'current' | 'status'>;
  readonly clock: Clock;
  /** Identity parts; absent: no certificates are issued. */
  readonly identity?:
    | {
        readonly instances: { readonly issuers: Pick<Issuers, 'current'> };
        readonly crls: Pick<CrlPublisher, 'expiry'>;
      }
    | undefined;
  readonly http: {
    readonly certificateExpiry: () => number;
    readonly readiness: () => UnreadyReason | 'ready';
  };
}

/** State for the gauges. Reads neither the store nor a file. */
export function stateOfServer({ store, live, clock, storeWatch, callerClocks, ...parts }: StateParts): ServerState {
  const now = clock.now();
  const { counter, refreshedAt, isStoreReadable, divergence } = live.status();
  const snapshot = live.current();
  const reason = parts.http.readiness();
  const { witness } = storeWatch.clock();
  return {
    now,
    unready: reason === 'ready' ? undefined : reason,
    clockDoubtedBy: [
      ...(witness === undefined ? [] : [witness]),
      ...(callerClocks.disagree() ? ['callers' as const] : []),
    ],
    aheadOfDatabaseMs: store.aheadOfDatabase(),
    snapshot: { counter, refreshedAt, domains: snapshot.domains.size },
    store: {
      isUp: isStoreReadable,
      isWritable: isStoreReadable && store.condition() === 'writable',
      isDiverged: divergence !== undefined,
    },
    connections: store.connections(),
    keys: (['token', 'bundle'] as const).flatMap((purpose) => {
      const [record] = signingOrder(snapshot.signingKeys, purpose, now);
      return record === undefined ? [] : [{ purpose, activeSince: record.activateAt }];
    }),
    ...certificatesOf(parts, now),
  };
}

function certificatesOf(
  { identity, http }: Pick<StateParts, 'identity' | 'http'>,
  now: number,
): Pick<ServerState, 'certificates' | 'issuerLeft'> {
  const issuer = identity && issuerLife(identity.instances.issuers.current(), now / 1000);
  const list = identity?.crls.expiry();
  return {
    issuerLeft: issuer?.left,
    certificates: [
      { which: 'server', notAfter: http.certificateExpiry() },
      ...(issuer === undefined ? [] : [{ which: 'issuer' as const, notAfter: issuer.notAfter * 1000 }]),
      ...(list === undefined ? [] : [{ which: 'crl' as const, notAfter: list * 1000 }]),
    ],
  };
}

interface GiveOutDeps {
  readonly config: ServerConfig;
  readonly logger: Logger;
  /** Readings of each process. */
  readonly read: () => Promise<readonly (readonly { readonly name: string }[])[]>;
}

/** Listener for scrapers. */
type MetricsOutlet = Awaited<ReturnType<typeof startMetricsServer>>;

/** Serves the metrics of one process or several as configured. Throws what listening throws. */
export async function giveOutMetrics(deps: GiveOutDeps): Promise<MetricsOutlet | undefined> {
  const at = metricsListenerOf(deps.config);
  if (at === undefined) return undefined;
  const { exposition } = await import('../metrics/readings.ts');
  const { startMetricsServer } = await import('../http/metrics-server.ts');
  const { config, logger, read } = deps;
  const server = await startMetricsServer(
    { config, logger, read: async (format) => exposition(await read(), format) },
    at,
  );
  logger.info({ metricsUrl: server.url }, 'metrics are available');
  return server;
}
