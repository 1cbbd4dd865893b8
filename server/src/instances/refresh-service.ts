import { type DomainName, type KeyId, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { altNamesOf, type ReadCertificate, readCertificate } from '../certificates/certificate-reader.ts';
import { type CertificateRequest, parseCertificateRequest } from '../certificates/csr.ts';
import { grantServiceNames } from '../certificates/csr-rules.ts';
import { type SignedCertificate, signOrder } from '../certificates/issue-certificate.ts';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import type { ServiceSnapshot } from '../snapshot/snapshot.ts';
import { findTenant } from './attest-instance.ts';
import { addressOctets, type Caller } from './caller.ts';
import { type InstanceDeps, presentedChain } from './instance-deps.ts';
import { refreshInstance } from './refresh-instance.ts';

/** `Identity` of the interface document. */
export interface Identity {
  readonly name: string;
  readonly certificate: string;
  readonly caCertBundle: string;
}

export interface ServiceRefresh {
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly csr: string;
  readonly requestedSeconds?: number | undefined;
  /** The registered public key that the request must hold; else it is the presented certificate's. */
  readonly keyId?: KeyId | undefined;
}

const update = authorityAction('update');

/** Whether the caller is the service itself, or may act for it with a registered key. Throws `ForbiddenError`. */
function requireRight(deps: InstanceDeps, caller: Caller, asked: ServiceRefresh): void {
  if (caller.principal === servicePrincipal(asked.domain, asked.service)) return;
  const right = { principal: caller.principal, action: update, resource: `${asked.domain}:service` };
  if (asked.keyId !== undefined && checkAccess(deps.snapshot(), right, deps.clock.now()).granted) return;
  throw new ForbiddenError(`principal \`${caller.principal}\` may not refresh \`${asked.domain}.${asked.service}\``);
}

/* Decision 23: who holds the request's key must be who was known before. */
function requireKnownKey(
  request: CertificateRequest,
  asked: ServiceRefresh,
  service: ServiceSnapshot,
  own: ReadCertificate,
): void {
  if (asked.keyId === undefined) {
    if (!request.subjectKey.spki.equals(own.spki)) {
      throw new InvalidRequestError('csr public key must be the one of the presented certificate, or name its `keyId`');
    }
    return;
  }
  const registered = service.publicKeys.get(asked.keyId);
  if (registered === undefined) {
    throw new InvalidRequestError(`service \`${asked.service}\` has no public key \`${asked.keyId}\``);
  }
  if (!registered.equals(request.subjectKey.key)) {
    throw new InvalidRequestError(`csr public key must be the registered key \`${asked.keyId}\``);
  }
}

function dnsNamesOf(certificate: ReadCertificate): ReadonlySet<string> {
  return new Set(altNamesOf(certificate).flatMap(({ kind, value }) => (kind === 'dns' ? [value] : [])));
}

async function signService(
  deps: InstanceDeps,
  caller: Caller,
  asked: ServiceRefresh,
  request: CertificateRequest,
  own: ReadCertificate,
): Promise<SignedCertificate> {
  const isSelf = caller.principal === servicePrincipal(asked.domain, asked.service);
  const names = grantServiceNames(request, asked, deps.rules, {
    mayUseSuffix: () => false,
    heldDnsNames: isSelf ? dnsNamesOf(own) : new Set(),
    address: isSelf ? addressOctets(caller.address) : undefined,
  });
  const domainLimit = deps.snapshot().domain(asked.domain)?.limits.serviceCertExpirySeconds;
  const signed = await signOrder(deps, {
    kind: 'service',
    names,
    subjectKey: request.subjectKey,
    usage: 'both',
    requestedSeconds: asked.requestedSeconds,
    defaultSeconds: deps.limits.serviceDefaultSeconds,
    maxSeconds: [deps.limits.serviceMaxSeconds, domainLimit],
    holder: caller.principal,
  });
  await deps.certificates.confirm(signed.serial, signed.fingerprint);
  return signed;
}

/*
 * An instance's certificate keeps to its lineage here as well: otherwise whoever copied one could go on with it for ever beside the
 * instance, and past its deletion.
 */
async function refreshAsInstance(
  deps: InstanceDeps,
  caller: Caller,
  asked: ServiceRefresh,
): Promise<Identity | undefined> {
  const row = await deps.certificates.find(caller.certificate.serial);
  if (row?.kind !== 'instance' || row.provider === undefined || row.instanceId === undefined) return undefined;
  const { domain, service, csr, requestedSeconds } = asked;
  const key = { provider: row.provider, domain, service, instanceId: row.instanceId };
  const nothing = { attestationData: '', ssh: undefined, hostname: undefined, cloud: undefined };
  const identity = await refreshInstance(deps, caller, key, { ...nothing, csr, requestedSeconds });
  const { name, x509Certificate = '', x509CertificateSigner = '' } = identity;
  return { name, certificate: x509Certificate, caCertBundle: x509CertificateSigner };
}

/**
 * `POST /instance/{domain}/{service}/refresh`: a new certificate for a service that shows that it still holds a known key. Throws
 * `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `StoreUnavailableError`.
 */
export async function refreshService(deps: InstanceDeps, caller: Caller, asked: ServiceRefresh): Promise<Identity> {
  const request = parseCertificateRequest(asked.csr);
  const tenant = findTenant(deps.snapshot(), asked);
  requireRight(deps, caller, asked);
  const own = readCertificate(caller.certificate.der);
  const service = tenant.services.get(asked.service);
  if (service !== undefined) requireKnownKey(request, asked, service, own);
  const asInstance = asked.keyId === undefined ? await refreshAsInstance(deps, caller, asked) : undefined;
  if (asInstance !== undefined) return asInstance;
  const signed = await signService(deps, caller, asked, request, own);
  const { chain, signer } = presentedChain(signed, deps.issuers.current().rootsPem);
  return { name: `${asked.domain}.${asked.service}`, certificate: chain, caCertBundle: signer };
}
