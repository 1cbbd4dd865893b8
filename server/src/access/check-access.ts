import {
  type ActionName,
  type DomainName,
  foldAscii,
  type PrincipalName,
  type RoleName,
} from '@signet/policy-engine/names';
import type { Decision, DecisionContext, DomainPolicy } from '@signet/policy-engine/policy';
import { InvalidRequestError } from '../errors.ts';
import { directRoles, heldRoles, mayAssume, stepsARole } from '../roles/granted-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type Asked, decideCounted } from './decide-counted.ts';

export interface AccessQuery {
  readonly principal: PrincipalName;
  readonly action: ActionName;
  /** `domain:entity`. */
  readonly resource: string;
  /** Trust domain of an `assume_role` check: its policy says which roles may assume the one that `resource` names. */
  readonly trustDomain?: DomainName;
  /** Values of a host for assertions with conditions; the server's own checks have none. */
  readonly context?: DecisionContext;
}

interface AccessAnswer {
  readonly granted: boolean;
  readonly decision: Decision;
  /** Cost of the policy, the roles that are held, and finding those that may be assumed, in units of `maxWork` of the engine. */
  readonly work: number;
}

/**
 * Decides whether the principal may do the action on the resource at `now` (milliseconds): the roles that it holds, put to the same decision
 * function as on a provider host. DENY wins. Throws `UnknownDomainError` when the domain of the resource, or the trust domain of an
 * `assume_role` check, does not exist, `InvalidRequestError` when the resource names no domain.
 */
export function checkAccess(snapshot: Snapshot, query: AccessQuery, now: number): AccessAnswer {
  const { decision, work } =
    query.action === 'assume_role' && (query.trustDomain !== undefined || isRole(query.resource))
      ? decideAssumeRole(snapshot, query, query.trustDomain ?? resourceDomain(query.resource), now)
      : decideInOwnDomain(snapshot, query, now);
  return { granted: decision.status === 'ALLOW', decision, work };
}

/** Checks of one principal, of which none takes another domain's word; what it holds in a domain is found and paid once. */
export function checksOf(
  snapshot: Snapshot,
  principal: PrincipalName,
  now: number,
): (query: Pick<AccessQuery, 'action' | 'resource'>) => AccessAnswer {
  const held = new Map<DomainSnapshot, readonly RoleName[]>();
  return (query) => {
    const domain = existingDomain(snapshot, resourceDomain(query.resource));
    const known = held.get(domain);
    const { roles, work: found } =
      known === undefined ? namesHeld(snapshot, domain, principal, now) : { roles: known, work: 0 };
    held.set(domain, roles);
    const { decision, work } = decideWithRoles(domain, roles, query);
    const paid = found + (known === undefined ? work : work - roles.length * stepsARole);
    return { granted: decision.status === 'ALLOW', decision, work: paid };
  };
}

type Decided = Pick<AccessAnswer, 'decision' | 'work'>;

function decideInOwnDomain(snapshot: Snapshot, query: AccessQuery, now: number): Decided {
  const domain = existingDomain(snapshot, resourceDomain(query.resource));
  const { roles, work: found } = namesHeld(snapshot, domain, query.principal, now);
  const { decision, work } = decideWithRoles(domain, roles, query);
  return { decision, work: found + work };
}

/** Roles that a principal holds, and the cost of finding those of them that may be assumed. */
function namesHeld(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): { readonly roles: readonly RoleName[]; readonly work: number } {
  let work = 0;
  const compared = (units: number) => {
    work += units;
  };
  const roles = heldRoles(snapshot, domain, principal, { now, compared }).map((role) => role.name);
  return { roles, work };
}

/**
 * Decision about `assume_role`: only direct members of a role of the trust domain are considered, as delegation has one hop. INVARIANT: an ALLOW
 * counts here where it counts for the roles that a principal holds, which takes an assertion that names `assume_role` and the role without
 * wildcards (decision 001).
 */
function decideAssumeRole(snapshot: Snapshot, query: AccessQuery, trustDomain: DomainName, now: number): Decided {
  const domain = existingDomain(snapshot, trustDomain);
  const listed = directRoles(snapshot, domain, query.principal, now);
  const roles = listed.map((role) => role.name);
  const isOwn = resourceDomain(query.resource) === domain.name;
  const policy = isOwn ? domain.policy : domain.foreignPolicy;
  if (roles.length === 0 || policy === undefined) return { ...noMatch, work: roles.length * stepsARole };
  const { decision, work } = decideBy(policy, roles, { action: query.action, resource: query.resource });
  if (decision.status !== 'ALLOW' || (isOwn && !isRole(query.resource))) return { decision, work };
  let compared = 0;
  const isAssumable = mayAssume(domain, listed, foldAscii(query.resource), (units) => {
    compared += units;
  });
  return { decision: isAssumable ? decision : noMatch.decision, work: work + compared };
}

function isRole(resource: string): boolean {
  return foldAscii(resource.slice(resource.indexOf(':') + 1)).startsWith('role.');
}

/** Decision for roles. A principal without any role gets an answer ("no assertion matches"), not the error that a token would. */
function decideWithRoles(domain: DomainSnapshot, roles: readonly string[], query: Asked): Decided {
  return roles.length === 0 ? noMatch : decideBy(domain.policy, roles, query);
}

const noMatch: Decided = { decision: { status: 'DENY_NO_MATCH' }, work: 0 };

function decideBy(policy: DomainPolicy, roles: readonly string[], asked: Asked): Decided {
  const { decision, work } = decideCounted(policy, roles, asked);
  return { decision, work: work + roles.length * stepsARole };
}

/** Domain of a resource, which may not exist. Throws `InvalidRequestError`. */
export function resourceDomain(resource: string): DomainName {
  const colon = resource.indexOf(':');
  if (colon <= 0) throw new InvalidRequestError('resource must be `domain:entity`');
  // Unchecked name, used for a look-up only: a text that is not a domain name finds no domain.
  return foldAscii(resource.slice(0, colon)) as DomainName;
}
