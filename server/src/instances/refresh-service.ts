import { type DomainName, type KeyId, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { type Asker, decidedAgain } from '../access/recording-conditions.ts';
import { addressOctets } from '../base/ip-address.ts';
import { registeredKey } from '../base/registered-key.ts';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import type { CertificateRecord } from '../model/certificate-store.ts';
import { requireOwnToken, type VerifiedPrincipalToken } from '../principals/principal-token.ts';
import type { ServiceSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { altNamesOf, type ReadCertificate, readCertificate } from '../x509/certificate-reader.ts';
import { type CertificateRequest, parseCertificateRequest } from '../x509/csr.ts';
import { grantServiceNames } from '../x509/csr-rules.ts';
import { carriesInstanceId } from '../x509/instance-id.ts';
import { type SignedCertificate, signOrder } from '../x509/issue-certificate.ts';
import { loadSubjectKey } from '../x509/subject-key.ts';
import { addressFault, asOf, findTenant } from './attest-instance.ts';
import type { Caller } from './caller.ts';
import { heldKey } from './held-key.ts';
import { type InstanceDeps, presentedChain } from './instance-deps.ts';
import { refreshInstance } from './refresh-instance.ts';

/** The answer to a refresh (docs/reference/certificates.md#service-certificates). */
interface Identity {
  readonly name: string;
  readonly certificate: string;
  readonly caCertBundle: string;
}

interface ServiceRefresh {
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly csr: string;
  readonly requestedSeconds?: number | undefined;
  /** The registered public key that the request must hold; else it is the presented certificate's. */
  readonly keyId?: KeyId | undefined;
}

const update = authorityAction('update');

/** A service that asks with nothing but a principal token, and from where. */
interface TokenHolder extends Required<VerifiedPrincipalToken> {
  readonly address: string;
}

/** Facts about the caller before any right is checked. */
interface Asking {
  readonly caller: Pick<Caller, 'principal' | 'address'> & Asker;
  /** Certificate of the service; absent: it authenticates with a principal token. */
  readonly own?: ReadCertificate;
  readonly row?: CertificateRecord | undefined;
  /** True if the service itself is the caller, and not an operator for it. */
  readonly isSelf: boolean;
}

/** Request with a certificate. */
type CertificateAsking = Asking & { readonly caller: Caller; readonly own: ReadCertificate };

/** Requires that the caller is the service itself, or may act for it with a registered key. Throws `ForbiddenError`. */
function requireRight(deps: InstanceDeps, { caller, isSelf }: Asking, asked: ServiceRefresh): void {
  if (isSelf) return;
  const right = { principal: caller.principal, action: update, resource: `${asked.domain}:service` };
  if (asked.keyId !== undefined && checkAccess(deps.snapshot(), right, deps.clock.now()).granted) return;
  throw new ForbiddenError(`principal \`${caller.principal}\` may not refresh \`${asked.domain}.${asked.service}\``);
}

/*
 * Requires a known key (docs/reference/certificates.md#service-certificates): the holder of the request's key must be the one that was known
 * before.
 */
function requireKnownKey(
  request: CertificateRequest,
  asked: ServiceRefresh,
  service: ServiceSnapshot,
  own: ReadCertificate | undefined,
): void {
  if (asked.keyId === undefined) {
    if (own === undefined || !request.subjectKey.spki.equals(own.spki)) {
      throw new InvalidRequestError('csr public key must be the one of the presented certificate, or name its `keyId`');
    }
    return;
  }
  const registered = service.publicKeys.get(asked.keyId);
  if (registered === undefined) {
    throw new InvalidRequestError(`service \`${asked.service}\` has no public key \`${asked.keyId}\``);
  }
  if (registeredKey(registered)?.equals(loadSubjectKey(request.subjectKey)) !== true) {
    throw new InvalidRequestError(`csr public key must be the registered key \`${asked.keyId}\``);
  }
}

/**
 * The registered key that vouches for the new certificate, and with which it ends: the one that is named, else the one that vouched for
 * the presented certificate, else a registered one that is the key of the request. Undefined: a certificate that an operator brought
 * here, whose key is registered nowhere. Throws `ForbiddenError` when the key of the presented certificate was withdrawn.
 */
function vouchingKey(
  request: CertificateRequest,
  asked: ServiceRefresh,
  service: ServiceSnapshot,
  { row }: Asking,
): KeyId | undefined {
  if (asked.keyId !== undefined) return asked.keyId;
  const key = loadSubjectKey(request.subjectKey);
  if (row?.vouchedKey === undefined) return heldKey(service.publicKeys, request.subjectKey, key);
  const vouching = service.publicKeys.get(row.vouchedKey);
  if (vouching !== undefined && registeredKey(vouching)?.equals(key) === true) return row.vouchedKey;
  throw new ForbiddenError(`the key \`${row.vouchedKey}\` that vouched for the certificate is not registered any more`);
}

/** Decides whether the service gets a certificate. Answers the key that vouches for it. Throws what the checks throw. */
function authorizeService(
  deps: InstanceDeps,
  asking: Asking,
  refresh: ServiceRefresh,
  request: CertificateRequest,
): KeyId | undefined {
  const tenant = findTenant(deps.snapshot(), refresh);
  requireRight(deps, asking, refresh);
  const service = tenant.services.get(refresh.service);
  if (service === undefined) return undefined;
  const { keyId } = refresh;
  const asked = { ...refresh, keyId: keyId && deps.findKeyId(service.publicKeys, keyId) };
  requireKnownKey(request, asked, service, asking.own);
  return vouchingKey(request, asked, service, asking);
}

function dnsNamesOf(certificate: ReadCertificate): ReadonlySet<string> {
  return new Set(altNamesOf(certificate).flatMap(({ kind, value }) => (kind === 'dns' ? [value] : [])));
}

/** Request of a service, and the key that proves it. */
interface VouchedRequest {
  readonly asked: ServiceRefresh;
  readonly request: CertificateRequest;
  readonly vouchedKey: KeyId | undefined;
  /** Throws when what spoke for the caller has ended; a certificate is looked at wherever one is recorded. */
  readonly stillHolds: (snapshot: Snapshot) => void;
}

async function signService(
  deps: InstanceDeps,
  asking: Asking,
  { asked, request, vouchedKey, stillHolds }: VouchedRequest,
): Promise<SignedCertificate> {
  const { caller, own, isSelf } = asking;
  const held = isSelf && own !== undefined ? dnsNamesOf(own) : new Set<string>();
  const names = grantServiceNames(request, asked, deps.rules, {
    mayUseSuffix: () => false,
    mayUseOwnSuffixes: true,
    heldDnsNames: held,
    address: isSelf ? addressOctets(caller.address) : undefined,
    addressFault: (octets) => addressFault(deps, caller.principal, octets),
    dnsForm: deps.snapshot().domain(asked.domain)?.dnsForm,
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
    holder: servicePrincipal(asked.domain, asked.service),
    vouchedKey,
    // Without a certificate a registered key of its own asks.
    askedBy:
      isSelf && caller.certificate !== undefined
        ? { certificate: caller.certificate.serial }
        : { names: [caller.principal] },
  });
  const conditions = decidedAgain(deps, caller, (snapshot) => {
    stillHolds(snapshot);
    return authorizeService(asOf(deps, snapshot), asking, asked, request);
  });
  await deps.certificates.confirm(signed.serial, signed.fingerprint, conditions);
  return signed;
}

/*
 * Refreshes as the instance. Its certificate keeps to its lineage here as well, whatever key is named: otherwise a thief could renew a copy for
 * ever beside the instance, and past its deletion.
 */
async function refreshAsInstance(
  deps: InstanceDeps,
  { caller, own, row, isSelf }: CertificateAsking,
  asked: ServiceRefresh,
): Promise<Identity | undefined> {
  if (!isSelf) return undefined;
  if (row === undefined && carriesInstanceId(own)) {
    throw new ForbiddenError('the certificate of an instance is not known here, it must register again');
  }
  if (row?.kind !== 'instance' || row.provider === undefined || row.instanceId === undefined) return undefined;
  const { domain, service, csr, requestedSeconds } = asked;
  const key = { provider: row.provider, domain, service, instanceId: row.instanceId };
  const nothing = { attestationData: '', ssh: undefined, hostname: undefined, cloud: undefined };
  const identity = await refreshInstance(deps, caller, key, { ...nothing, csr, requestedSeconds });
  const { name, x509Certificate = '', x509CertificateSigner = '' } = identity;
  return { name, certificate: x509Certificate, caCertBundle: x509CertificateSigner };
}

/*
 * The profile `athenz`: who signed the token and the request holds the same registered key. There is no certificate, and so no lineage to
 * keep to; the new one ends with that key.
 */
async function refreshByToken(deps: InstanceDeps, holder: TokenHolder, refresh: ServiceRefresh): Promise<Identity> {
  const asked = { ...refresh, keyId: holder.keyId };
  const name = servicePrincipal(asked.domain, asked.service);
  if (holder.principal !== name) throw new ForbiddenError(`a principal token refreshes its own service only`);
  const request = parseCertificateRequest(asked.csr);
  const asking = { caller: { principal: holder.principal, address: holder.address }, isSelf: true };
  const vouchedKey = authorizeService(deps, asking, asked, request);
  const stillHolds = (snapshot: Snapshot) => requireOwnToken(holder, snapshot);
  return identityOf(deps, asked, await signService(deps, asking, { asked, request, vouchedKey, stillHolds }));
}

function identityOf(deps: InstanceDeps, { domain, service }: ServiceRefresh, signed: SignedCertificate): Identity {
  const { chain, signer } = presentedChain(signed, deps.issuers.current().rootsPem);
  return { name: `${domain}.${service}`, certificate: chain, caCertBundle: signer };
}

/**
 * `POST /instance/{domain}/{service}/refresh`: a new certificate for a service that shows that it still holds a known key. Throws
 * `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `StoreUnavailableError`.
 */
export async function refreshService(
  deps: InstanceDeps,
  caller: Caller | TokenHolder,
  asked: ServiceRefresh,
): Promise<Identity> {
  if (!('certificate' in caller)) return refreshByToken(deps, caller, asked);
  const request = parseCertificateRequest(asked.csr);
  const own = readCertificate(caller.certificate.der);
  const row = await deps.certificates.find(caller.certificate.serial);
  const isSelf = caller.principal === servicePrincipal(asked.domain, asked.service);
  const asking = { caller, own, row, isSelf };
  const vouchedKey = authorizeService(deps, asking, asked, request);
  const asInstance = await refreshAsInstance(deps, asking, asked);
  if (asInstance !== undefined) return asInstance;
  const stillHolds = () => undefined;
  return identityOf(deps, asked, await signService(deps, asking, { asked, request, vouchedKey, stillHolds }));
}
