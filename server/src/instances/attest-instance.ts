import { type PrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import { credentialsOf } from '../access/known-identity.ts';
import { addressOctets, plainAddress } from '../base/ip-address.ts';
import { ForbiddenError, InvalidRequestError, UnknownDomainError } from '../errors.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { AskingCertificate } from '../ssh/issue-ssh.ts';
import type { CertificateRequest } from '../x509/csr.ts';
import { type GrantedNames, grantInstanceNames, type ServiceGrants } from '../x509/csr-rules.ts';
import { type CertificateOrder, type SignedCertificate, signOrder } from '../x509/issue-certificate.ts';
import { hostNamesOf, instanceIdName } from '../x509/naming.ts';
import { serverPrincipal } from '../x509/own-identity.ts';
import { addressResource } from '../x509/subject-alt-names.ts';
import type { AttestationRequest, Attested } from './attestation/attestation.ts';
import type { InstanceDeps, IssueHostCertificate, SshHostCertificate } from './instance-deps.ts';
import type { RefreshInformation } from './instance-request.ts';
import {
  authorizeLaunch,
  dnsSuffixResource,
  mayUseAddress,
  mayUseDnsSuffix,
  mayVouchForHost,
} from './launch-authorization.ts';
import { isReservedHost } from './reserved-names.ts';

/*
 * Steps common to registering and refreshing: the tenant exists, its provider may launch it, the names are the instance's own, the provider
 * attests it, a certificate is signed. In this order.
 */

/** The tenant of an instance. Throws `UnknownDomainError`, `InvalidRequestError` when the service is not registered there. */
export function findTenant(snapshot: Snapshot, key: Pick<InstanceKey, 'domain' | 'service'>): DomainSnapshot {
  const domain = snapshot.domain(key.domain);
  if (domain === undefined) throw new UnknownDomainError(key.domain);
  if (domain.services.get(key.service)?.enabled !== true) {
    throw new InvalidRequestError(`service \`${key.service}\` is not registered in domain \`${key.domain}\``);
  }
  return domain;
}

/**
 * Check against a later snapshot that the service and its provider are still those of this one: an attestation is not valid for a principal that
 * was created under the other's name meanwhile. It throws `ForbiddenError`.
 */
export function samePrincipals(
  before: Snapshot,
  { provider, domain, service }: Pick<InstanceKey, 'provider' | 'domain' | 'service'>,
): (after: Snapshot) => void {
  const names = [servicePrincipal(domain, service), provider].map((name) => ({
    name,
    from: credentialsOf(name, before),
  }));
  return (after) => {
    const other = names.find(({ name, from }) => credentialsOf(name, after) !== from);
    if (other !== undefined)
      throw new ForbiddenError(`service \`${other.name}\` was created again meanwhile, ask again`);
  };
}

/**
 * Authorizations that every instance needs: its provider may launch it, and attest the stated host name, whatever kind of certificate is to
 * carry it. Throws `ForbiddenError`, `InvalidRequestError`.
 */
export function authorizeProvider(
  deps: InstanceDeps,
  key: Pick<InstanceKey, 'provider' | 'domain' | 'service'>,
  { hostname }: Pick<RefreshInformation, 'hostname'>,
): void {
  const [snapshot, now] = [deps.snapshot(), deps.clock.now()];
  authorizeLaunch(snapshot, key.provider, key, now);
  if (servicePrincipal(key.domain, key.service) === serverPrincipal) {
    throw new ForbiddenError(`\`${serverPrincipal}\` is the token server itself and has no instances`);
  }
  if (hostname === undefined || mayHaveHost(deps, key, hostname)) return;
  throw new InvalidRequestError(`hostname \`${hostname}\` is not one that provider \`${key.provider}\` may vouch for`);
}

/** True if the provider may attest a host name, which is not one that the server gives or has. */
function mayHaveHost(
  deps: Pick<InstanceDeps, 'snapshot' | 'clock' | 'hosts'>,
  key: Pick<InstanceKey, 'provider' | 'domain' | 'service'>,
  name: string,
): boolean {
  const snapshot = deps.snapshot();
  return (
    mayVouchForHost(snapshot, key.provider, name, deps.clock.now()) && !isReservedHost(snapshot, deps.hosts, key, name)
  );
}

/** Names that an instance, or its provider for it, states beside the request for a certificate. */
interface StatedNames {
  readonly hostname?: string | undefined;
  /** Address of the caller. */
  readonly address: string;
}

function grantsFor(
  deps: InstanceDeps,
  key: Pick<InstanceKey, 'provider' | 'domain'>,
  { hostname, address }: StatedNames,
): ServiceGrants {
  const [snapshot, now] = [deps.snapshot(), deps.clock.now()];
  return {
    mayUseSuffix: (suffix) => mayUseDnsSuffix(snapshot, key.provider, suffix, now),
    suffixRight: (suffix) => `provider \`${key.provider}\` needs \`launch\` on \`${dnsSuffixResource(suffix)}\``,
    hostname,
    address: addressOctets(address),
    addressFault: (octets) => addressFault(deps, key.provider, octets),
    dnsForm: snapshot.domain(key.domain)?.dnsForm,
    isServerHost: deps.hosts.isServerHost,
  };
}

/**
 * The rule by which an address does not go into a certificate for which this principal vouches: the provider of an instance, or a
 * service itself. Undefined when it may.
 */
export function addressFault(
  deps: Pick<InstanceDeps, 'snapshot' | 'clock' | 'reservedAddresses'>,
  voucher: PrincipalName,
  octets: string,
): string | undefined {
  const reserved = deps.reservedAddresses.faultOf(octets);
  if (reserved !== undefined) return reserved;
  if (mayUseAddress(deps.snapshot(), voucher, octets, deps.clock.now())) return undefined;
  return `needs \`launch\` on \`${addressResource(octets)}\` for \`${voucher}\``;
}

/** The names of an instance that asks with this request. Throws `InvalidRequestError`. */
export function namesFor(
  deps: InstanceDeps,
  request: CertificateRequest,
  subject: Omit<InstanceKey, 'instanceId'> & { readonly instanceId: InstanceKey['instanceId'] | undefined },
  stated: StatedNames,
): ReturnType<typeof grantInstanceNames> {
  return grantInstanceNames(request, subject, deps.rules, grantsFor(deps, subject, stated));
}

export interface AttestInput {
  readonly operation: 'register' | 'refresh';
  readonly key: InstanceKey;
  readonly information: RefreshInformation;
  readonly names: GrantedNames;
  readonly address: string;
  readonly principal?: string | undefined;
  /** Serial number of the certificate that a refresh presents. */
  readonly presented?: string | undefined;
}

/** Calls the provider. Throws `InvalidRequestError` when there is none of that name, and what the provider throws. */
export async function attest(deps: InstanceDeps, input: AttestInput): Promise<Attested> {
  const snapshot = deps.snapshot();
  const provider = deps.findProvider(snapshot, input.key.provider);
  if (provider === undefined) throw noEndpoint(input.key.provider);
  const request: AttestationRequest = {
    ...input.key,
    operation: input.operation,
    attestationData: input.information.attestationData,
    altNames: input.names.altNames,
    hostname: input.information.hostname,
    clientAddress: plainAddress(input.address),
    principal: input.principal,
    cloud: input.information.cloud,
    awsAccount: snapshot.domain(input.key.domain)?.accounts.aws,
    credentialsFrom: credentialsOf(servicePrincipal(input.key.domain, input.key.service), snapshot),
  };
  return provider.attest(request);
}

/** The same use case as of another snapshot: what was decided before the provider was asked is decided again with it. */
export function asOf(deps: InstanceDeps, snapshot: Snapshot): InstanceDeps {
  return { ...deps, snapshot: () => snapshot };
}

/** Requires that the provider that attested could still be asked. Throws `InvalidRequestError`. */
export function requireProvider(deps: InstanceDeps, provider: PrincipalName): void {
  if (deps.findProvider(deps.snapshot(), provider) !== undefined) return;
  throw noEndpoint(provider);
}

function noEndpoint(provider: PrincipalName): InvalidRequestError {
  return new InvalidRequestError(`provider \`${provider}\` has no endpoint to ask`);
}

/** Signs the certificate of an attested instance; its row waits to be confirmed. */
export function signInstance(
  deps: InstanceDeps,
  input: AttestInput,
  request: CertificateRequest,
  attested: Attested,
): Promise<SignedCertificate> {
  const { key, information, names } = input;
  const order: CertificateOrder = {
    kind: 'instance',
    names,
    subjectKey: request.subjectKey,
    usage: attested.usage,
    requestedSeconds: information.requestedSeconds,
    defaultSeconds: deps.limits.serviceDefaultSeconds,
    maxSeconds: [
      deps.limits.serviceMaxSeconds,
      deps.snapshot().domain(key.domain)?.limits.serviceCertExpirySeconds,
      attested.maxSeconds,
    ],
    holder: servicePrincipal(key.domain, key.service),
    provider: key.provider,
    instanceId: key.instanceId,
    askedBy: askedByOf(input, attested),
  };
  return signOrder(deps, order);
}

/** A refresh is asked for by whoever asked for the certificate that it presents; else the provider vouches, or who made the join token. */
function askedByOf({ key, presented }: AttestInput, { joinToken }: Attested): CertificateOrder['askedBy'] {
  if (presented !== undefined) return { certificate: presented };
  return joinToken === undefined ? { names: [key.provider] } : { joinToken };
}

/** Reads the request for a host certificate, if there is one and an authority to sign it. Throws `InvalidRequestError`. */
export function readHostRequest(deps: InstanceDeps, information: RefreshInformation): IssueHostCertificate | undefined {
  return information.ssh === undefined ? undefined : deps.readHostRequest?.(information.ssh);
}

interface HostGrounds {
  readonly attested: Attested;
  readonly asking: AskingCertificate;
  /** Throws when the instance may have nothing. */
  readonly authorize: (snapshot: Snapshot) => unknown;
}

/**
 * Host certificate as requested, when the provider says that the instance may have one, no longer than the X.509 certificate beside it, or
 * without one than the certificate of the caller. Names that only the provider states are used as far as policy lets it attest them.
 */
export async function hostCertificate(
  deps: Pick<InstanceDeps, 'clock' | 'hosts'>,
  issue: IssueHostCertificate | undefined,
  input: AttestInput,
  { attested, asking, authorize }: HostGrounds,
): Promise<SshHostCertificate | undefined> {
  if (issue === undefined || !attested.ssh) return undefined;
  const { hostname } = input.information;
  const { key } = input;
  const dns = input.names.altNames.flatMap(({ kind, value }) => (kind === 'dns' ? [value] : []));
  const own = hostNamesOf(dns, instanceIdName(deps.hosts.rules, key));
  const names = [...own, ...(hostname === undefined ? [] : [hostname])];
  const stated = attested.sshPrincipals ?? [];
  const namesAt = (snapshot: Snapshot) => {
    authorize(snapshot);
    const at = { ...deps, snapshot: () => snapshot };
    return [...names, ...stated.filter((name) => mayHaveHost(at, key, name.toLowerCase()))];
  };
  return issue(key, { asking, namesAt, maxSeconds: attested.maxSeconds });
}
