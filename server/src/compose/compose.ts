import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import type { DecideAgainDeps } from '../access/recording-conditions.ts';
import { reportOverruns } from '../access/report-overruns.ts';
import { noPeers, type Peers } from '../base/peers.ts';
import { CredentialsCache } from '../cloud/credentials-cache.ts';
import type { ServerConfig } from '../config/config.ts';
import { privateKeysOf } from '../config/private-keys.ts';
import { watchCallerClocks } from '../http/caller-clocks.ts';
import { type HttpServerDeps, startHttpServer } from '../http/server.ts';
import { watchTlsFiles } from '../http/tls-files.ts';
import { type PrivateKeys, withPrivateKeys } from '../keys/private-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import { createSigningKeys, type SigningKeys } from '../keys/signing-keys.ts';
import type { Logger } from '../logger.ts';
import { openDryRuns } from '../management/dry-runs.ts';
import { reservationOf } from '../management/name-safeguards.ts';
import type { Store, StoreCondition } from '../model/store.ts';
import type { Observer } from '../observer.ts';
import { type LiveSnapshot, openLiveSnapshot } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { certificateLogIn } from '../ssh/certificate-log.ts';
import { openSshAuthorities } from '../ssh/open-authorities.ts';
import { openStore } from '../store/open.ts';
import { watchForStandstill } from '../store-watch/stood-still.ts';
import { endDivergence, logHistory } from '../store-watch/store-history.ts';
import { type ClockJudgement, type StoreWatch, watchStore } from '../store-watch/store-watch.ts';
import { openTracing } from '../tracing/open-tracing.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { withoutDnsNames } from '../x509/naming.ts';
import { logCallers, logClock } from './clock-log.ts';
import { namingRulesOf, openIdentity } from './compose-identity.ts';
import { openMetrics, type TellMetrics, watchedStore } from './compose-metrics.ts';
import { openScheduledRotation } from './compose-rotation.ts';
import { makeSigningKeys } from './make-signing-keys.ts';
import { openRefusedCredentials } from './refused-credentials.ts';
import { troubleLog } from './trouble-log.ts';

type ManagementDeps = NonNullable<HttpServerDeps['management']>;

interface ServerDeps {
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Monotonic clock in milliseconds; default: that of the process. */
  readonly monotonic?: () => number;
  /** The store to use; else the one of the configuration is opened, and closed with the server. */
  readonly store?: Store;
  /** The other processes of this server; none by default. */
  readonly peers?: Peers;
  /** Outlet of this process's metrics; by default its own, by the configuration. */
  readonly tellMetrics?: TellMetrics | undefined;
}

/** A token server that answers. */
export interface RunningServer {
  readonly baseUrl: string;
  readonly issuer: string;
  /** URL of revocation lists over plain HTTP; absent when that is not configured. */
  readonly crlUrl?: string | undefined;
  /** URL of its metrics; absent when that is not configured, and when another process serves them. */
  readonly metricsUrl?: string | undefined;
  /** Reloads the TLS files, as it also does by itself when they change. */
  reload(): void;
  /** Looks at the store now instead of at the next refresh. */
  refresh(): Promise<void>;
  /** Ends the requests in flight and leaves nothing open. */
  close(): Promise<void>;
}

/** Builds a server of its parts and starts it; the only place that knows every part. Makes signing keys where there are none. */
export async function createServer(config: ServerConfig, deps: ServerDeps): Promise<RunningServer> {
  const { logger, clock = systemClock, peers = noPeers } = deps;
  await using cleanup = new AsyncDisposableStack();
  const started = { isSo: false };
  const opened = deps.store ?? cleanup.adopt(await openOwnStore(config, deps, started), (own) => own.close());
  const metrics = cleanup.adopt(await openMetrics(config, logger, deps.tellMetrics), (open) => open?.close());
  const observer = metrics?.observer;
  const tracing = await openTracing();
  const store = watchedStore(opened, observer, tracing);
  const storeWatch = cleanup.adopt(await openStoreWatch(config, store, deps), (watch) => watch.close());
  const privateKeys = await openPrivateKeys(config, store, { logger, clock });
  const live = cleanup.adopt(await openSnapshot(config, store, privateKeys, { logger, clock, observer }), (one) =>
    one.close(),
  );
  const keys = openKeys(config, privateKeys, () => live.current(), { logger, clock, observer, tracing });
  cleanup.defer(startBesides(config, { store, privateKeys, live, storeWatch, clock, logger }));
  const decideAgain = { snapshot: () => live.current(), snapshotAt: live.at };
  const ssh = sshDeps(config, store, decideAgain, clock);
  const parts = { config, store, clock, logger, ...decideAgain, ssh: ssh.issue, peers, observer, tracing };
  const identity = await openIdentity({ ...parts, live });
  cleanup.defer(() => identity.close());
  const cloud = cleanup.adopt(await openCloud(config, clock, tracing), (opened) => opened?.close());
  const refresh = async (): Promise<void> => {
    await Promise.all([live.refresh(), identity.refresh(), storeWatch.refresh()]);
  };
  // A failed read is repeated and reported at the next poll.
  store.watch(() => void refresh().catch(() => undefined));
  const dryRuns = cleanup.adopt(openDryRuns({ place: config.store, logger }), (open) => open.close());
  const changed = () => Promise.all([refresh(), peers.refresh()]);
  const management = await managementDeps(config, { store, clock, live, dryRuns, changed, logger, observer });
  const refused = cleanup.adopt(openRefusedCredentials(store, logger), (counts) => counts.close());
  const callerClocks = cleanup.use(watchCallerClocks({ clock, onChange: (time) => logCallers(time, logger) }));
  const http = await startHttpServer({
    management: config.management.enabled ? management : undefined,
    ...{ config, clock, logger, observer, tracing, keys, storeWatch, callerClocks },
    snapshot: () => live.current(),
    snapshotStatus: () => live.status(),
    newTokenId: () => randomUUID(),
    isRevoked: identity.isRevoked,
    catchUp: cleanup.use(watchForStandstill({ ...deps, ...config.snapshot, clock, refresh })).catchUp,
    isRevokedThumbprint: identity.isRevokedThumbprint,
    onRefused: refused.count,
    monotonic: deps.monotonic && { now: deps.monotonic },
    identity: identity.routes,
    ssh: { ...ssh, revocations: identity.revocations },
    cloud: cloud && { cache: cloud.cache, latest: () => live.at(store), certificates: store.certificates },
  });
  cleanup.defer(() => http.close());
  const watch = watchTlsFiles({ files: tlsFilesOf(config), reload: () => http.reloadTls(), logger });
  cleanup.defer(() => watch.close());
  const metricsUrl = await metrics?.giveOut({
    ...{ store, live, clock, storeWatch, callerClocks, http },
    identity: identity.routes,
  });
  const running = cleanup.move();
  started.isSo = true;
  return {
    ...serving(http, config, logger),
    metricsUrl,
    reload: () => watch.reloadNow(),
    refresh,
    close: () => running.disposeAsync(),
  };
}

/** Starts the work beside the requests; returns the function that ends it. */
function startBesides(config: ServerConfig, parts: Parameters<typeof openScheduledRotation>[1]): () => Promise<void> {
  const { live, logger } = parts;
  const overruns = reportOverruns(() => live.current(), logger);
  const rotation = openScheduledRotation(config, parts);
  return () => {
    overruns.close();
    return rotation.close();
  };
}

interface ManagementParts extends Pick<ManagementDeps, 'store' | 'clock' | 'dryRuns' | 'changed'> {
  readonly live: LiveSnapshot;
  readonly logger: Logger;
  readonly observer: Pick<Observer, 'glassBroken'> | undefined;
}

async function managementDeps(
  config: ServerConfig,
  { live, logger, observer, ...parts }: ManagementParts,
): Promise<ManagementDeps> {
  return {
    ...parts,
    requests: config.management.requests,
    brokeGlass: (change) => {
      observer?.glassBroken();
      logger.error({ ...change }, 'a change was made by break-glass, without the approvals that it needs');
    },
    snapshot: () => live.current(),
    snapshotAt: live.at,
    refresh: () => live.refresh(),
    quotas: config.management.quotas,
    nameReservationMs: reservationOf(config),
    pagingSecret: await parts.store.pagingSecret(),
  };
}

/** Opens the own store; writes of a starting server are no evidence of the time. */
function openOwnStore(
  { store }: ServerConfig,
  { logger, clock = systemClock }: ServerDeps,
  started: { readonly isSo: boolean },
): Promise<Store> {
  const onProblem = (problem: string): void => logger.warn(problem);
  return openStore(store, { clock, tellsTime: () => started.isSo, onProblem });
}

/** Logs that the server answers, and where. */
function serving(
  { addresses, crlUrl }: Awaited<ReturnType<typeof startHttpServer>>,
  { profile }: ServerConfig,
  logger: Logger,
): Pick<RunningServer, 'baseUrl' | 'issuer' | 'crlUrl'> {
  const { baseUrl, issuer } = addresses;
  logger.info({ baseUrl, crlUrl, profile: profile.name }, 'serving');
  return { baseUrl, issuer, crlUrl };
}

function tlsFilesOf({ tls }: ServerConfig): string[] {
  return [tls.certificate, tls.key, tls.clientCa];
}

function openStoreWatch(config: ServerConfig, store: Store, deps: ServerDeps): Promise<StoreWatch> {
  const { logger, clock = systemClock, monotonic = () => performance.now() } = deps;
  const { refreshIntervalMs } = config.snapshot;
  const onCondition = (condition: StoreCondition): void => {
    if (condition === 'writable') logger.info('store is writable again');
    else logger.error('store cannot be written (full or read-only disk): changes are refused, reads continue');
  };
  const onClock = (judgement: ClockJudgement) => logClock(judgement, logger);
  return watchStore({ store, clock, monotonic, refreshIntervalMs, onCondition, onClock });
}

/** The first signing keys are made where there are none. */
async function openPrivateKeys(
  config: ServerConfig,
  store: Store,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): Promise<PrivateKeys> {
  const privateKeys = privateKeysOf(config, store);
  await makeSigningKeys({ store: signingKeyStore(store, 'signet serve'), privateKeys, clock }, logger);
  return privateKeys;
}

interface Watching {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly observer: Observer | undefined;
}

async function openSnapshot(
  config: ServerConfig,
  store: Store,
  privateKeys: PrivateKeys,
  { logger, clock, observer }: Watching,
): Promise<LiveSnapshot> {
  const reading = troubleLog(logger, {
    failing: 'store cannot be read, answering from the snapshot',
    passed: 'store is readable again',
  });
  const onKeyError = (error: unknown) => logger.error({ error: String(error) }, 'sealed signing keys cannot be read');
  const live = await openLiveSnapshot({
    store: withPrivateKeys(store, privateKeys, onKeyError),
    clock,
    refreshIntervalMs: config.snapshot.refreshIntervalMs,
    onRefresh: (seconds, isDone) => {
      observer?.snapshotRefreshed(seconds, isDone);
      if (isDone) reading.passed();
    },
    onError: (error, isLook) => {
      if (isLook) reading.failed(error);
      else logger.error({ error: String(error) }, 'change cannot be loaded, the previous state stays in use');
    },
    ...(config.store.onDivergence === 'new-epoch' && { whileDiverged: endDivergence({ store, logger }) }),
  });
  live.onOtherHistory((history) => logHistory(history, logger));
  warnOfMissingDnsNames(live.current(), logger);
  return live;
}

function warnOfMissingDnsNames(snapshot: Snapshot, logger: Logger): void {
  for (const { name, dnsForm } of snapshot.domains.values()) {
    if (dnsForm === undefined) logger.warn({ domain: name }, withoutDnsNames(name));
  }
}

function openKeys(
  config: ServerConfig,
  privateKeys: PrivateKeys,
  snapshot: () => Snapshot,
  { logger, clock, observer, tracing }: Watching & { readonly tracing: Tracing | undefined },
): SigningKeys {
  const keys = createSigningKeys({
    records: () => snapshot().signingKeys,
    privateKeys,
    clock,
    onSigned: observer?.signed,
    around: tracing && ((sign) => tracing.aroundNow('signet.sign', {}, sign)),
    life: { token: config.tokens.longestExpirySeconds * 1000, bundle: config.bundles.lifetimeSeconds * 1000 },
    onError: (error, kid) => logger.error({ kid, error: String(error) }, 'private key cannot be read'),
    onMissing: (kids) => {
      if (kids.length === 0) logger.info('all active signing keys have their private key');
      else logger.error({ kids }, 'private key of an active signing key is missing: no other key signs instead');
    },
  });
  // Read now: at the first token their folder may be out of reach.
  keys.current();
  return keys;
}

/** Opens the cloud; without a configured region there is none, and nothing of its SDK is loaded. */
async function openCloud(
  { cloud }: ServerConfig,
  clock: Clock,
  tracing: Tracing | undefined,
): Promise<{ cache: CredentialsCache; close(): void } | undefined> {
  const { region, endpoint, timeoutMs } = cloud.aws;
  if (region === undefined) return undefined;
  const { createSts } = await import('../cloud/sts.ts');
  const sts = createSts({ region, timeoutMs, ...(endpoint !== undefined && { endpoint }) });
  const assumeRole: typeof sts.assumeRole = (session) =>
    tracing === undefined ? sts.assumeRole(session) : tracing.around('signet.sts', {}, () => sts.assumeRole(session));
  return { cache: new CredentialsCache(assumeRole, clock), close: sts.close };
}

function sshDeps(
  config: ServerConfig,
  store: Store,
  decideAgain: DecideAgainDeps,
  clock: Clock,
): Omit<HttpServerDeps['ssh'], 'revocations'> {
  const { certificates, instances } = store;
  const issue = {
    ...decideAgain,
    clock,
    authorities: openSshAuthorities(config.ssh),
    rules: config.ssh,
    loginDomain: parseDomainName(config.ssh.loginDomain),
    log: certificateLogIn(certificates, clock),
    randomBytes: (length: number) => randomBytes(length),
  };
  const { maxAgeSeconds: krlMaxAgeSeconds } = config.crl;
  return { issue, certificates, instances, store, naming: namingRulesOf(config), krlMaxAgeSeconds };
}
