import { epochSeconds } from '@signet/policy-engine/clock';
import {
  type DomainName,
  InvalidNameError,
  type PrincipalName,
  parseDomainName,
  parseRoleName,
  type RoleName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import { type AskersCertificate, type DecideAgainDeps, decidedAgain } from '../access/recording-conditions.ts';
import { addressOctets } from '../base/ip-address.ts';
import { InvalidRequestError, NoGrantedRolesError, UnknownDomainError } from '../errors.ts';
import type { CertificateRecord, CertificateStore } from '../model/certificate-store.ts';
import { type Compared, grantedAmong, stepsARole } from '../roles/granted-roles.ts';
import { aSecondOn, heldUntil, lastMoment } from '../roles/held-until.ts';
import type { RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type CertificateRequest, parseCertificateRequest } from './csr.ts';
import { grantRoleNames } from './csr-rules.ts';
import { type IssueDeps, type SignedCertificate, signOrder } from './issue-certificate.ts';
import type { RoleHolder } from './name-forms.ts';
import type { NamingRules } from './naming.ts';

export interface RoleCertificateDeps extends IssueDeps, DecideAgainDeps {
  readonly rules: NamingRules;
  readonly certificates: CertificateStore;
  /** Predicate: many clients come from an address: balancers and proxies. */
  readonly isSharedAddress: (address: string) => boolean;
  readonly limits: { readonly roleDefaultSeconds: number; readonly roleMaxSeconds: number };
}

export interface RoleCertificateInput {
  readonly csr: string;
  /** Role from the path; without it the common name of the request names the role. */
  readonly role?: { readonly domain: DomainName; readonly name: RoleName } | undefined;
  readonly requestedSeconds?: number | undefined;
  readonly presented?: AskersCertificate | undefined;
  /** DNS names of the certificate that the caller presented. */
  readonly heldDnsNames: ReadonlySet<string>;
  readonly address: string;
  /** Called each time with the cost of finding that the role is held. */
  readonly compared?: Compared | undefined;
}

function roleOf(request: CertificateRequest): { readonly domain: DomainName; readonly name: RoleName } {
  const [domain, role, ...more] = request.commonName.split(':role.');
  try {
    return { domain: parseDomainName(domain), name: parseRoleName(more.length === 0 ? role : undefined) };
  } catch (cause) {
    if (!(cause instanceof InvalidNameError)) throw cause;
    throw new InvalidRequestError('csr common name must be `<domain>:role.<role>`', { cause });
  }
}

type AskedRole = Pick<RoleCertificateInput, 'compared'> & { readonly domain: DomainName; readonly name: RoleName };

/* The name is compared exactly: a role whose name only ends like the one asked for is another role. */
function heldRole(
  snapshot: Snapshot,
  principal: PrincipalName,
  asked: AskedRole,
  now: number,
): { readonly role: RoleSnapshot; readonly domainLimit: number | undefined } {
  const domain = snapshot.domain(asked.domain);
  if (domain === undefined) throw new UnknownDomainError(asked.domain);
  const [role] = grantedAmong(snapshot, domain, principal, {
    asked: new Set([asked.name]),
    now,
    compared: asked.compared,
  });
  if (role === undefined) throw new NoGrantedRolesError(asked.domain, { detail: { principal, role: asked.name } });
  return { role, domainLimit: domain.limits.roleCertExpirySeconds };
}

/** True if the role is held at a moment in milliseconds. */
function isHeld(snapshot: Snapshot, principal: PrincipalName, { domain, name, compared }: AskedRole, now: number) {
  const owner = snapshot.domain(domain);
  compared?.(stepsARole);
  return (
    owner !== undefined &&
    grantedAmong(snapshot, owner, principal, { asked: new Set([name]), now, compared }).length > 0
  );
}

function holderOf(
  deps: Pick<RoleCertificateDeps, 'snapshot' | 'isSharedAddress'>,
  principal: PrincipalName,
  { heldDnsNames, address }: RoleCertificateInput,
): Omit<RoleHolder, 'principal'> {
  const parts = splitPrincipal(principal);
  const dnsForm = parts && deps.snapshot().domain(parts.domain)?.dnsForm;
  return {
    heldDnsNames,
    dnsStart: dnsForm && `${parts.service}.${dnsForm}.`,
    address: deps.isSharedAddress(address) ? undefined : addressOctets(address),
  };
}

/** INVARIANT: what a person gets ends, and is revoked, with the certificate that an operator or a login gave to that person. */
async function personsCertificate(
  { certificates }: Pick<RoleCertificateDeps, 'certificates'>,
  principal: PrincipalName,
  { presented }: RoleCertificateInput,
): Promise<CertificateRecord | undefined> {
  if (presented === undefined || splitPrincipal(principal)?.domain !== 'user') return undefined;
  const row = await certificates.find(presented.serial);
  return row?.kind === 'user' ? row : undefined;
}

/**
 * `POST /domain/{domainName}/role/{roleName}/token` and `POST /rolecert` (docs/reference/certificates.md#role-certificates): a client
 * certificate that names a role which the principal holds. Throws `InvalidRequestError`, `UnknownDomainError`, `NoGrantedRolesError`,
 * `StoreUnavailableError`.
 */
export async function issueRoleCertificate(
  deps: RoleCertificateDeps,
  principal: PrincipalName,
  input: RoleCertificateInput,
): Promise<SignedCertificate> {
  const request = parseCertificateRequest(input.csr);
  const asked = { ...(input.role ?? roleOf(request)), compared: input.compared };
  const subject = { domain: asked.domain, role: asked.name, principal };
  const names = grantRoleNames(request, subject, deps.rules, holderOf(deps, principal, input));
  const snapshot = deps.snapshot();
  const start = epochSeconds(deps.clock);
  const { role, domainLimit } = heldRole(snapshot, principal, asked, aSecondOn(deps.clock));
  const longest = start + deps.limits.roleMaxSeconds;
  const person = await personsCertificate(deps, principal, input);
  const personLimit = person && Math.max(1, person.notAfter - epochSeconds(deps.clock));
  const signed = await signOrder(deps, {
    kind: 'role',
    names,
    subjectKey: request.subjectKey,
    usage: 'client',
    requestedSeconds: input.requestedSeconds,
    defaultSeconds: deps.limits.roleDefaultSeconds,
    maxSeconds: [deps.limits.roleMaxSeconds, domainLimit, role.certExpirySeconds, personLimit],
    latest: heldUntil((now) => isHeld(snapshot, principal, asked, now), start, longest),
    holder: principal,
    askingSerial: person?.serial,
    askedBy: input.presented === undefined ? { names: [principal] } : { certificate: input.presented.serial },
  });
  const conditions = decidedAgain(deps, { principal, certificate: input.presented }, (latest) =>
    heldRole(latest, principal, asked, lastMoment(signed.notAfter)),
  );
  await deps.certificates.confirm(signed.serial, signed.fingerprint, conditions);
  return signed;
}
