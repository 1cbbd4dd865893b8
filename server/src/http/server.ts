import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Clock } from '@signet/policy-engine/clock';
import { gracefulServer } from '@signet/policy-engine/http';
import { type BundlePublisher, createBundlePublisher } from '../bundles/publish-bundle.ts';
import type { GetCredentialsDeps } from '../cloud/get-credentials.ts';
import { type Addresses, addressesOf, hostOf, type ServerConfig } from '../config/config.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { Logger } from '../logger.ts';
import { tokenKey } from '../oauth/service-token.ts';
import type { Observer, UnreadyReason } from '../observer.ts';
import type { IsRevoked } from '../principals/principal.ts';
import type { ServerTokens } from '../principals/principal-token.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { StandstillWatch } from '../store-watch/stood-still.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { createApp } from './app.ts';
import type { CallerClocks } from './caller-clocks.ts';
import { type ClientTrust, openClientTrust } from './client-trust.ts';
import { type ConnectionFailures, countConnectionFailures } from './connection-failures.ts';
import { watchDescriptors } from './descriptor-watch.ts';
import { ownHosts } from './host-names.ts';
import { listen } from './listen.ts';
import { isManagement, managementPath, mountManagementRoutes } from './management/index.ts';
import type { ManagementRouteDeps } from './management/management-deps.ts';
import { type OpenBudgets, openBudgets } from './open-budgets.ts';
import { principalTokenUses } from './principal-token-use.ts';
import { type RawAnswers, rawAnswers } from './raw-answers.ts';
import type { AccessDeps } from './routes/access-route.ts';
import { type ReadinessDeps, readinessOf } from './routes/health.ts';
import { athenzBeside, nothingBeside } from './routes/identity/beside-identity.ts';
import type { IdentityRouteDeps } from './routes/identity/identity-deps.ts';
import { carriesRequests } from './routes/identity/index.ts';
import { loginPath } from './routes/identity/login.ts';
import {
  mountBusyRoutes,
  mountHealthRoutes,
  mountOpenApi,
  mountRoutes,
  openPaths,
  publishablePaths,
} from './routes/index.ts';
import { probePaths } from './routes/probe-paths.ts';
import type { RouteDeps } from './routes/route-deps.ts';
import { slowConnections } from './slow-connections.ts';
import { createTlsServer } from './tls-server.ts';

export interface HttpServerDeps {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly snapshot: () => Snapshot;
  readonly snapshotStatus: RouteDeps['readiness']['snapshotStatus'];
  readonly storeWatch: ReadinessDeps['storeWatch'];
  /** Recorder of the callers' time. */
  readonly callerClocks: CallerClocks;
  readonly keys: SigningKeys;
  readonly newTokenId: () => string;
  readonly isRevoked: IsRevoked;
  readonly catchUp: StandstillWatch['catchUp'];
  readonly isRevokedThumbprint: AccessDeps['isRevokedThumbprint'];
  /** Monotonic clock of the budgets. Default: that of the process. */
  readonly monotonic?: Clock | undefined;
  /** Called for every credential that is refused. */
  readonly onRefused: (reason: string) => void;
  /** The operations on certificates; absent when no issuer is configured. */
  readonly identity?: Omit<IdentityRouteDeps, 'basePath' | 'beside'> | undefined;
  readonly ssh: RouteDeps['ssh'];
  /** Observer of answers and signatures; absent if nothing is measured. */
  readonly observer?: Observer | undefined;
  /** Tracing; absent if no spans are collected. */
  readonly tracing?: Tracing | undefined;
  /** The management API; absent when it is disabled. */
  readonly management?: Omit<ManagementRouteDeps, 'basePath'> | undefined;
  /** Sessions of cloud roles; absent when no cloud is configured. */
  readonly cloud?: Omit<GetCredentialsDeps, 'snapshot' | 'clock'> | undefined;
}

/** A server that answers. */
interface HttpServer {
  readonly addresses: Addresses;
  /** Address of revocation lists over plain HTTP; absent if they are not served there. */
  readonly crlUrl?: string | undefined;
  /** Expiry of the server's own certificate, in milliseconds since the epoch. */
  certificateExpiry(): number;
  /** Reason why requests belong to another server. */
  readiness(): UnreadyReason | 'ready';
  /** Reloads the TLS files. Throws, and keeps the old ones, when they cannot be used. */
  reloadTls(): void;
  /** Announces the close in `/readyz` and in every answer, stops accepting after the delay, and cuts the rest after the drain time. */
  close(): Promise<void>;
}

/** Listens, and answers from the moment when the port is known: base URL and issuer may depend on it. */
export async function startHttpServer(deps: HttpServerDeps): Promise<HttpServer> {
  const { config, logger } = deps;
  const failures = countConnectionFailures(logger);
  const answers = rawAnswers(deps.observer);
  const intermediates = () => intermediatesOf(deps);
  const { server, reload } = createTlsServer({
    files: config.tls,
    intermediates,
    headerBytes: config.limits.headerBytes,
    requestMs: config.timeouts.requestMs,
    keepAliveMs: config.timeouts.keepAliveMs,
    onFailure: (stage, reason) => failures.count(`${stage}: ${reason}`),
    onAnswered: answers.add,
  });
  const trust = openClientTrust(config.tls.clientCa, intermediates);
  server.on('drop', () => failures.count('accept: too many connections'));
  // Opened first, as it keeps connections from the later listeners: it sees a connection also before its PROXY header.
  const budgets = openBudgets(server, config, logger, deps.monotonic);
  const graceful = gracefulServer(server);
  slowConnections(deps).watch(server);
  server.on('connection', trust.began);
  server.on('secureConnection', trust.met);
  const addresses = addressesOf(config, await listen(server, { ...config.listen, option: 'listen.port' }));
  let own = ownCertificate(config, addresses);
  const state = { isStopping: () => graceful.isClosing, own: () => own, budgets, answers };
  const descriptors = watchDescriptors(() => failures.count('accept: no file descriptor left'));
  const onRefused = (reason: string) => {
    deps.onRefused(reason);
    failures.count(`credential: ${reason}`);
  };
  server.on('request', appFor({ ...deps, onRefused }, addresses, trust, state).callback());
  // Without a listener an error of the listening socket would end the process.
  server.on('error', (error) => failures.count(`accept: ${'code' in error ? String(error.code) : 'unknown'}`));
  const crls = await openCrlServer({ ...deps, failures, answers }, addresses).catch((error: unknown) => {
    server.close();
    throw error;
  });
  return {
    addresses,
    crlUrl: crls?.url,
    certificateExpiry: () => own.life.notAfter,
    readiness: () => readinessOf(readinessDeps(deps, state)),
    reloadTls() {
      const disorder = reload();
      trust.reload();
      if (disorder !== undefined) throw disorder;
      own = ownCertificate(config, addresses);
    },
    async close() {
      const { shutdown, timeouts } = config;
      const delayMs = shutdown.delaySeconds * 1000;
      await Promise.all([graceful.close({ delayMs, deadlineMs: timeouts.drainMs }), crls?.close()]);
      budgets.close();
      descriptors[Symbol.dispose]();
      failures.close();
    },
  };
}

/** Server for verifiers of certificates, which may have none themselves. */
async function openCrlServer(
  deps: HttpServerDeps & { readonly failures: ConnectionFailures; readonly answers: RawAnswers },
  addresses: Addresses,
) {
  const { identity } = deps;
  const { port } = deps.config.crl.listen;
  if (identity === undefined || port === undefined) return undefined;
  const { startCrlServer } = await import('./crl-server.ts');
  return startCrlServer({ ...deps, identity, idPrefix: randomBytes(6).toString('base64url') }, addresses, port);
}

/** Facts of the server's own certificate: its validity period, and the hosts whose requests it may answer. */
interface OwnCertificate {
  readonly life: ReturnType<ReadinessDeps['certificate']>;
  readonly isOwnHost: (host: string) => boolean;
}

function ownCertificate({ tls }: ServerConfig, { baseUrl }: Addresses): OwnCertificate {
  const leaf = new X509Certificate(readFileSync(tls.certificate));
  const life = { notBefore: leaf.validFromDate.getTime(), notAfter: leaf.validToDate.getTime() };
  return { life, isOwnHost: ownHosts(leaf, baseUrl) };
}

/** Chains of the server's own issuers. */
function intermediatesOf({ identity }: HttpServerDeps): string {
  const set = identity?.instances.issuers.current();
  return set === undefined ? '' : [...set.active, ...set.draining].map(({ chainPem }) => chainPem).join('');
}

/** State that changes while a server runs. */
type ServerState = Pick<ReadinessDeps, 'isStopping'> & {
  readonly own: () => OwnCertificate;
  readonly budgets: OpenBudgets;
  readonly answers: RawAnswers;
};

/** Instances register and people log in before they have a certificate. */
function strangersMay({ basePath }: Addresses): (method: string, path: string) => boolean {
  const [login, instance] = [loginPath(basePath), `${basePath}/instance`];
  return (method, path) => path === login || (method === 'POST' && path === instance);
}

/** Additions for instances beside their certificates. */
function besideOf(deps: HttpServerDeps, { baseUrl }: Addresses): Pick<IdentityRouteDeps, 'beside'> {
  const { config, keys, clock, snapshot } = deps;
  if (!config.profile.signsForServices) return { beside: nothingBeside };
  const tokens = { keys, clock, host: hostOf(baseUrl), longestSeconds: config.tokens.longestExpirySeconds };
  return { beside: athenzBeside({ tokens, keys, signingKeys: () => snapshot().signingKeys }) };
}

/** Signer of principal tokens in place of services; absent if that is disabled. */
function serverTokensOf({ config, keys, isRevoked }: HttpServerDeps): ServerTokens | undefined {
  return config.profile.signsForServices ? { keyOf: (kid) => tokenKey(keys, kid), isRevoked } : undefined;
}

function tokenDeps(deps: HttpServerDeps, { issuer }: Addresses): RouteDeps['tokens'] {
  const { snapshot, keys, clock, newTokenId } = deps;
  const { profile, tokens } = deps.config;
  return {
    snapshot,
    keys,
    clock,
    newTokenId,
    issuer,
    bounds: tokens,
    bound: tokens.bound,
    roleCertificates: profile.roleCertificatesGetTokens,
    idTokens: tokens.idTokens,
  };
}

function readinessDeps(deps: HttpServerDeps, { isStopping, own }: ServerState): ReadinessDeps {
  const { clock, keys, snapshot, snapshotStatus, storeWatch, identity } = deps;
  const certificate = () => own().life;
  return {
    clock,
    keys,
    snapshot,
    snapshotStatus,
    storeWatch,
    isStopping,
    certificate,
    crls: identity?.crls,
    issuers: identity?.instances.issuers,
  };
}

function publisherOf({ snapshot, keys, clock, config, observer, tracing }: HttpServerDeps): BundlePublisher {
  const { lifetimeSeconds } = config.bundles;
  return createBundlePublisher({
    snapshot,
    keys,
    clock,
    lifetimeSeconds,
    onSigned: observer && (() => observer.signed('bundle')),
    around: tracing && ((sign) => tracing.around('signet.sign', {}, sign)),
  });
}

function isOneOf(paths: ReadonlySet<string>): (path: string) => boolean {
  return (path) => paths.has(path);
}

function appFor(deps: HttpServerDeps, addresses: Addresses, trust: ClientTrust, state: ServerState) {
  const { config, clock, snapshot } = deps;
  const takesRequests = carriesRequests(addresses.basePath);
  const probes = probePaths(addresses);
  const routeDeps: RouteDeps = {
    config,
    addresses,
    tokens: tokenDeps(deps, addresses),
    access: {
      snapshot,
      clock,
      isRevokedThumbprint: deps.isRevokedThumbprint,
      restricted: config.accessChecks.restricted,
    },
    bundles: {
      snapshot,
      publisher: publisherOf(deps),
      profile: config.profile,
      maxAgeSeconds: config.bundles.maxAgeSeconds,
    },
    identity: deps.identity && { ...deps.identity, ...besideOf(deps, addresses), basePath: addresses.basePath },
    readiness: readinessDeps(deps, state),
    ssh: deps.ssh,
    cloud: deps.cloud && { snapshot, clock, ...deps.cloud },
  };
  return createApp({
    profile: config.profile,
    snapshot,
    clock,
    catchUp: deps.catchUp,
    logger: deps.logger,
    logRequests: config.log.requests,
    limits: config.limits,
    tokenPath: `${addresses.basePath}/oauth2/token`,
    isOpen: isOneOf(openPaths(addresses, config)),
    isProbe: (path) => probes.has(path),
    isPublishable: isOneOf(publishablePaths(addresses)),
    // Probes ask by address.
    isOwnHost: (host, path) => state.own().isOwnHost(host) || probes.has(path),
    isOptional: strangersMay(addresses),
    isRevoked: deps.isRevoked,
    serverTokens: serverTokensOf(deps),
    trust,
    callerClocks: deps.callerClocks,
    takesLargeBody: (path) => isManagement(path) || takesRequests(path),
    principalTokenUse: principalTokenUses(config.profile, addresses.basePath),
    busyRoutes: (router) => {
      if (!config.management.alone) mountBusyRoutes(router, routeDeps);
    },
    routes: (router) => {
      if (config.management.alone) mountHealthRoutes(router, routeDeps);
      else mountRoutes(router, routeDeps);
      const identity = deps.identity !== undefined;
      mountOpenApi(router, routeDeps, async () => {
        const { openApiDocument } = await import('./openapi/document.ts');
        return openApiDocument({ config, addresses, identity });
      });
      if (deps.management === undefined) return;
      const management = { ...deps.management, basePath: managementPath };
      mountManagementRoutes(router, management, routeDeps.access, config.limits.largeBodyBytes);
    },
    addressOf: state.budgets.connections.addressOf,
    budget: state.budgets.rulesFor(addresses),
    onRefused: deps.onRefused,
    observer: deps.observer,
    tracing: deps.tracing,
    isAnswered: state.answers.has,
    idPrefix: randomBytes(6).toString('base64url'),
  });
}
