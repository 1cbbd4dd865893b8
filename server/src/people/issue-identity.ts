import { type DomainName, type PrincipalName, type ServiceName, splitPrincipal } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { isKnownIdentity } from '../access/known-identity.ts';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import type { Caller } from '../instances/caller.ts';
import { rightsOf, systemDomain } from '../management/rights.ts';
import type { AskedBy, CertificateStore } from '../model/certificate-store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { parseCertificateRequest } from '../x509/csr.ts';
import { grantServiceNames, type ServiceGrants } from '../x509/csr-rules.ts';
import { serverPrincipal } from '../x509/own-identity.ts';
import { type IssuedIdentity, type IssueRecordedDeps, issueRecorded } from './issue-recorded.ts';
import { systemRolesOf } from './system-roles.ts';

export interface IssueIdentityDeps extends IssueRecordedDeps {
  readonly certificates: Pick<CertificateStore, 'intend' | 'find'>;
  readonly limits: {
    readonly userDefaultSeconds: number;
    readonly userMaxSeconds: number;
    readonly serviceMaxSeconds: number;
  };
}

interface IdentityRequest {
  readonly principal: PrincipalName;
  readonly csr: string;
  readonly requestedSeconds?: number | undefined;
}

type IdentityParts = { readonly domain: DomainName; readonly service: ServiceName };

const action = authorityAction('issue_certificate');

/** The names that follow from who it is, and none that policy, a connection or an earlier certificate could add. */
export const noGrants: ServiceGrants = {
  mayUseSuffix: () => false,
  addressFault: () => 'is not for a certificate that somebody else asked for',
  dnsForm: undefined,
};

/** Domain and name of a person or a service. Throws `InvalidRequestError` for a group or a name that is neither. */
function partsOf(principal: PrincipalName): IdentityParts {
  const parts = splitPrincipal(principal);
  if (parts !== undefined) return parts;
  throw new InvalidRequestError('principal must be `user.<name>` or `<domain>.<service>`');
}

/**
 * Requires that the caller may have certificates made for the principal; throws `ForbiddenError`. INVARIANT: a key of a principal gives all its
 * access, so a name with a role in `sys.auth` is for those who have that role, or could take it.
 */
function requireIssue(snapshot: Snapshot, caller: PrincipalName, principal: PrincipalName, now: number): void {
  const resource = `${systemDomain}:principal.${principal}`;
  const isAsked = snapshot.domain(systemDomain) !== undefined;
  if (!isAsked || !checkAccess(snapshot, { principal: caller, action, resource }, now).granted) {
    throw new ForbiddenError(`principal \`${caller}\` needs \`${action}\` on \`${resource}\``);
  }
  if (principal === serverPrincipal) {
    throw new ForbiddenError(`the certificate of \`${principal}\`, the token server, is given to nobody`);
  }
  if (!isKnownIdentity(principal, snapshot)) {
    throw new ForbiddenError(`\`${principal}\` is neither a person nor a service that is registered and enabled`);
  }
  const own = new Set<string>(systemRolesOf(snapshot, caller, now));
  for (const role of systemRolesOf(snapshot, principal, now)) {
    if (own.has(role) || mayJoin(snapshot, caller, role, now)) continue;
    const full = `${systemDomain}:role.${role}`;
    throw new ForbiddenError(`\`${principal}\` holds \`${full}\`: principal \`${caller}\` must hold it as well`);
  }
}

/** True if the caller could make himself a member of that role of `sys.auth`. */
function mayJoin(snapshot: Snapshot, caller: PrincipalName, role: string, now: number): boolean {
  const query = { right: 'manage_members', domain: systemDomain, object: `role.${role}` } as const;
  try {
    return rightsOf(snapshot, caller, now).require(query).isAdmin;
  } catch (error) {
    if (error instanceof ForbiddenError) return false;
    throw error;
  }
}

/**
 * `POST /principal/{principal}/certificate`: a client certificate for a person, or for a service, that an operator asks for. Throws
 * `InvalidRequestError`, `ForbiddenError`, `StoreUnavailableError`.
 */
export async function issueIdentity(
  deps: IssueIdentityDeps,
  caller: Caller,
  { principal, csr, requestedSeconds }: IdentityRequest,
): Promise<IssuedIdentity> {
  const parts = partsOf(principal);
  const decide = (snapshot: Snapshot) => requireIssue(snapshot, caller.principal, principal, deps.clock.now());
  decide(deps.snapshot());
  const request = parseCertificateRequest(csr);
  const kind = parts.domain === 'user' ? 'user' : 'service';
  const domainLimit = deps.snapshot().domain(parts.domain)?.limits.serviceCertExpirySeconds;
  const { userDefaultSeconds, userMaxSeconds, serviceMaxSeconds } = deps.limits;
  const order = {
    kind,
    names: grantServiceNames(request, parts, deps.rules, noGrants),
    subjectKey: request.subjectKey,
    usage: 'client',
    requestedSeconds,
    defaultSeconds: userDefaultSeconds,
    maxSeconds: kind === 'user' ? [userMaxSeconds] : [serviceMaxSeconds, domainLimit],
    holder: principal,
    askedBy: await askedBy(deps, caller, principal),
  } as const;
  const { requestId, certificate } = caller;
  const context = { actor: caller.principal, requestId, certificateSerial: certificate.serial };
  return issueRecorded(deps, order, { context, asker: caller, decide });
}

/**
 * Who asked for the caller's certificate asks for what is asked with it: nobody passes for another by asking twice. INVARIANT: a certificate for
 * oneself is as the one that was presented.
 */
async function askedBy(
  { certificates }: Pick<IssueIdentityDeps, 'certificates'>,
  { principal: caller, certificate: { serial } }: Caller,
  holder: PrincipalName,
): Promise<AskedBy> {
  if (holder === caller) return { certificate: serial };
  const askers = (await certificates.find(serial))?.askers ?? [];
  return { names: [...new Set([...askers, caller])] };
}
