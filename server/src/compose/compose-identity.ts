import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Clock } from '@signet/policy-engine/clock';
import { type PrincipalName, parsePrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import type { DecideAgainDeps } from '../access/recording-conditions.ts';
import { boundedFetch } from '../base/bounded-fetch.ts';
import type { Peers } from '../base/peers.ts';
import { randomOctets } from '../base/random-octets.ts';
import { addressList } from '../budgets/client-addresses.ts';
import type { ServerConfig } from '../config/config.ts';
import type { HttpServerDeps } from '../http/server.ts';
import { parseAddressPolicy } from '../instances/attestation/addresses.ts';
import type { AttestationProvider } from '../instances/attestation/attestation.ts';
import { createCallOut } from '../instances/attestation/call-out.ts';
import { joinTokenProvider } from '../instances/attestation/join-token.ts';
import { openJwtProvider } from '../instances/attestation/jwt-keys.ts';
import { observedProvider, providerFinder } from '../instances/find-provider.ts';
import { foreignRefreshAlarm } from '../instances/foreign-refresh.ts';
import type { InstanceDeps } from '../instances/instance-deps.ts';
import { addressesOfThisMachine, reservedAddresses } from '../instances/reserved-addresses.ts';
import type { Logger } from '../logger.ts';
import type { Store } from '../model/store.ts';
import type { Observer } from '../observer.ts';
import type { IssueIdentityDeps } from '../people/issue-identity.ts';
import type { ProfileRules } from '../profile.ts';
import type { LiveSnapshot } from '../snapshot/live-snapshot.ts';
import { type IssueSshDeps, issueHostCertificate } from '../ssh/issue-ssh.ts';
import { parseSshCsr } from '../ssh/ssh-csr.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { athenzForms } from '../x509/athenz-forms.ts';
import { createCrlPublisher } from '../x509/crl-publisher.ts';
import { startHousekeeping } from '../x509/housekeeping.ts';
import type { IssueDeps } from '../x509/issue-certificate.ts';
import { watchIssuerLife } from '../x509/issuer-life.ts';
import { type Issuers, openIssuers } from '../x509/issuers.ts';
import { type LiveRevocations, openLiveRevocations } from '../x509/live-revocations.ts';
import { type NameForms, signetForms } from '../x509/name-forms.ts';
import { currentNameOf, type NamingRules } from '../x509/naming.ts';
import { createOwnIdentity } from '../x509/own-identity.ts';
import { loginParts } from './compose-people.ts';
import { troubleLog } from './trouble-log.ts';

interface IdentityParts extends DecideAgainDeps {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Issuing of SSH certificates; absent: instances get none. */
  readonly ssh?: IssueSshDeps | undefined;
  readonly peers?: Peers;
  readonly observer?: Pick<Observer, 'attested' | 'certificateIssued'> | undefined;
  /** Tracing; absent if no spans are collected. */
  readonly tracing?: Tracing | undefined;
  /** Poller of the store, which notices when it has another history than before; absent: no polling, and a constant history. */
  readonly live?: Pick<LiveSnapshot, 'onLook' | 'onOtherHistory'>;
}

/** The part of a server that issues certificates and knows those revoked. */
interface OpenIdentity {
  readonly isRevoked: HttpServerDeps['isRevoked'];
  readonly isRevokedThumbprint: HttpServerDeps['isRevokedThumbprint'];
  readonly revocations: LiveRevocations;
  readonly routes: HttpServerDeps['identity'];
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** Opens issuers and revocations. Without a configured issuer nothing is issued; what was revoked is refused all the same. */
export async function openIdentity(parts: IdentityParts): Promise<OpenIdentity> {
  const { config, store, clock, logger } = parts;
  const reading = troubleLog(logger, {
    failing: 'revocations cannot be read, using the last known ones',
    passed: 'revocations can be read again',
  });
  const onError = reading.failed;
  const revocations = await openLiveRevocations({
    certificates: store.certificates,
    clock,
    refreshIntervalMs: config.snapshot.refreshIntervalMs,
    onError,
    onRead: reading.passed,
    onMissing: (serials) => logMissing(serials, logger),
    onLook: (listener) => parts.live?.onLook(listener),
  });
  parts.live?.onOtherHistory(() => void revocations.reread().catch(onError));
  const issuers = await openConfiguredIssuers(parts);
  const issuerWatch = issuers && watchIssuerLife(issuers, clock, logger);
  const routes = issuers && (await identityRoutes(parts, issuers, revocations));
  const { certificates, instances } = store;
  const housekeeping = startHousekeeping({ store, certificates, instances, crls: routes?.crls, clock }, (error) =>
    logger.error({ error: String(error) }, 'a revocation list cannot be made, or ended rows cannot be removed'),
  );
  return {
    isRevoked: revocations.has,
    isRevokedThumbprint: revocations.hasThumbprint,
    revocations,
    routes,
    refresh: () => revocations.refresh(),
    close: async () => {
      issuerWatch?.[Symbol.dispose]();
      issuers?.close();
      await housekeeping.close();
      await revocations.close();
    },
  };
}

/** Serial numbers in a line of the log; `signet certificate revoke` takes them one by one. */
const serialsALine = 50;

function logMissing(serials: readonly string[], logger: Logger): void {
  const told = { count: serials.length, serials: serials.slice(0, serialsALine) };
  logger.error(told, 'revocations were lost: revoke these certificates again; this process refuses them until it ends');
}

async function openConfiguredIssuers({ config, logger }: IdentityParts): Promise<Issuers | undefined> {
  if (config.certificates.issuers.length === 0) return undefined;
  const onError = (error: unknown) =>
    logger.error({ error: String(error) }, 'issuers cannot be used, the old ones stay in use');
  return openIssuers({ ...issuerFilesOf(config), onError });
}

export function issuerFilesOf({ certificates, crl }: ServerConfig): Omit<Parameters<typeof openIssuers>[0], 'onError'> {
  const { issuers: sources, roots, reloadIntervalMs } = certificates;
  return { sources, roots, rootLists: crl.roots, distributionPoints: crl.distributionPoints, reloadIntervalMs };
}

async function identityRoutes(
  parts: IdentityParts,
  issuers: Issuers,
  revocations: LiveRevocations,
): Promise<HttpServerDeps['identity']> {
  const { config, store, clock, logger, snapshot, snapshotAt } = parts;
  const { certificates, instances } = store;
  const rules = namingRulesOf(config);
  const issuing = {
    issuers,
    certificates,
    clock,
    randomBytes: randomOctets(),
  } satisfies IssueDeps;
  const common = { ...issuing, snapshot, snapshotAt, rules, limits: limitsOf(config) };
  const deps: InstanceDeps = {
    ...common,
    findKeyId: config.profile.findKeyId,
    hosts: { rules, isServerHost: serverHostsOf(config) },
    reservedAddresses: reservedAddresses({
      configured: sharedAddressesOf(config),
      own: () => [...addressesOfThisMachine(), ...publishedHosts(config).filter((host) => isIP(host) !== 0)],
    }),
    instances,
    store,
    findProvider: await findProviders(parts, { ...issuing, certificates, rules }, issuers, revocations),
    readHostRequest: hostRequests(parts.ssh, rules),
    noteForeignRefresh: foreignRefreshAlarm({ store, logger, clock }),
    onRevoked: async () => {
      await Promise.all([revocations.refresh(), parts.peers?.refresh()]);
    },
  };
  const recording = { ...common, store, onIssued: parts.observer?.certificateIssued };
  const { lifetimeSeconds, provider } = config.instances.joinTokens;
  return {
    instances: deps,
    roles: { ...common, isSharedAddress: addressList(sharedAddressesOf(config)) },
    registerTokens: {
      ...common,
      instances,
      joinTokenSeconds: lifetimeSeconds,
      joinTokenProvider: parsePrincipalName(provider),
    },
    ...(await loginParts(config, recording)),
    people: { ...recording, limits: peopleLimitsOf(config) },
    clock,
    crlMaxAgeSeconds: config.crl.maxAgeSeconds,
    crls: createCrlPublisher({
      issuers,
      revocations,
      certificates,
      clock,
      lifetimeSeconds: config.certificates.crlLifetimeSeconds,
    }),
    expiryTimeSeconds: config.profile.expiryTimeSeconds,
  };
}

const formsOf: Readonly<Record<ProfileRules['nameForms'], (suffixes: readonly string[]) => NameForms>> = {
  own: () => signetForms,
  athenz: athenzForms,
};

export function namingRulesOf({ certificates, profile }: ServerConfig): NamingRules {
  const { trustDomain, dnsSuffix, dnsSuffixes } = certificates;
  return { trustDomain, dnsSuffix, forms: formsOf[profile.nameForms](dnsSuffixes) };
}

/** Balancers and proxies: what comes through them seems to come from them. */
function sharedAddressesOf({ instances, listen, budgets }: ServerConfig): readonly string[] {
  return [...instances.reservedAddresses, ...listen.proxyProtocolFrom, ...budgets.sharedAddresses];
}

/** The hosts of the addresses that clients are given. */
export function publishedHosts({ baseUrl, issuer }: Pick<ServerConfig, 'baseUrl' | 'issuer'>): readonly string[] {
  const hosts = [baseUrl, issuer].map((address) => URL.parse(address ?? '')?.hostname ?? '');
  return hosts.map((host) => host.replace(/^\[|\]$|\.$/g, ''));
}

/** Predicate: clients know the server by a name, from its addresses or its certificate. */
export function serverHostsOf(config: Pick<ServerConfig, 'baseUrl' | 'issuer' | 'tls'>): (host: string) => boolean {
  const hosts = publishedHosts(config);
  const certificate = new X509Certificate(readFileSync(config.tls.certificate));
  return (host) =>
    hosts.includes(host) || certificate.checkHost(host, { subject: 'never', wildcards: false }) !== undefined;
}

/** Reader of host certificate requests; without an authority for hosts, instances get no SSH certificate. */
function hostRequests(ssh: IssueSshDeps | undefined, rules: NamingRules): InstanceDeps['readHostRequest'] {
  if (ssh?.authorities.host === undefined) return undefined;
  return (csr) => {
    const request = parseSshCsr(csr);
    return (instance, host) => {
      const { provider, domain, service, instanceId } = instance;
      const principals = request.principals.map((name) => currentNameOf(rules, instance, name));
      const who = { ...host, service: servicePrincipal(domain, service), provider, instanceId };
      return issueHostCertificate(ssh, who, { ...request, principals });
    };
  };
}

function limitsOf({ certificates }: ServerConfig): InstanceDeps['limits'] {
  return {
    serviceDefaultSeconds: certificates.serviceExpirySeconds,
    serviceMaxSeconds: certificates.serviceMaxExpirySeconds,
    roleDefaultSeconds: certificates.roleExpirySeconds,
    roleMaxSeconds: certificates.roleMaxExpirySeconds,
  };
}

function peopleLimitsOf({ people, certificates }: ServerConfig): IssueIdentityDeps['limits'] {
  return {
    userDefaultSeconds: people.expirySeconds,
    userMaxSeconds: people.maxExpirySeconds,
    serviceMaxSeconds: certificates.serviceMaxExpirySeconds,
  };
}

async function findProviders(
  { config, store, clock, observer, tracing }: IdentityParts,
  own: Parameters<typeof createOwnIdentity>[0],
  issuers: Issuers,
  revocations: LiveRevocations,
): Promise<InstanceDeps['findProvider']> {
  const builtIn = new Map<PrincipalName, AttestationProvider>();
  const observed = observedProvider(observer, tracing);
  const { trimsJoinTokens } = config.profile;
  const join = joinTokenProvider({ instances: store.instances, clock, trimsJoinTokens });
  builtIn.set(parsePrincipalName(config.instances.joinTokens.provider), observed('join-token', join));
  // Issuers of tokens have certificates that this machine trusts.
  const fetch = boundedFetch(undefined);
  for (const issuer of config.instances.jwtIssuers) {
    const jwt = await openJwtProvider(issuer, { clock, instances: store.instances, fetch });
    builtIn.set(parsePrincipalName(issuer.provider), observed('jwt', jwt));
  }
  const identity = createOwnIdentity(own);
  const callOut = createCallOut({
    addresses: parseAddressPolicy(config.instances.callOut.allow),
    identity: async () => ({ ...(await identity()), roots: issuers.current().rootsPem }),
    clock,
    isRevoked: revocations.has,
    timeoutMs: config.instances.callOut.timeoutMs,
    isShared: addressList(config.budgets.sharedAddresses),
    traceparent: tracing?.traceparent,
    isOwnName: (name) => name.endsWith(`.${config.certificates.dnsSuffix}`),
  });
  return providerFinder(builtIn, callOut, observed);
}
