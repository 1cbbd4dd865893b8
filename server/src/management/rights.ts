import {
  type DomainName,
  foldAscii,
  fullRoleName,
  type PrincipalName,
  parseDomainName,
} from '@signet/policy-engine/names';
import { matchesPattern, Work, WorkExceededError } from '@signet/policy-engine/policy';
import type { WirePolicy } from '@signet/policy-engine/wire';
import { authorityAction, type Right, rights } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { ForbiddenError } from '../errors.ts';
import type { Viewer } from '../impact/fold.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

export { type Right, rights };

export const systemDomain: DomainName = parseDomainName('sys.auth');
/** The role of a domain whose members may do everything with it. */
export const adminRole = 'admin';

/** What a caller wants to do, and with what: `role.reader`, `group.team`, `policy.movies`, `service.api`, `domain`. */
interface RightQuery {
  readonly caller: PrincipalName;
  readonly right: Right;
  readonly domain: DomainName;
  readonly object: string;
  /** Whether only the policy of `sys.auth` can give it. */
  readonly systemOnly?: boolean;
}

/**
 * Throws `ForbiddenError` unless the caller is an administrator, or the policy of the domain gives the right on
 * `<domain>:<object>` by its name. Answers whether the caller is an administrator, who alone may change who manages the domain.
 */
export function requireRight(snapshot: Snapshot, query: RightQuery, now: number): { readonly isAdmin: boolean } {
  if (isOperator(snapshot, query, now)) return { isAdmin: true };
  if (query.systemOnly === true)
    throw new ForbiddenError(`caller lacks \`${query.right}\` on \`${query.domain}\` in \`${systemDomain}\``);
  if (isOwner(snapshot, query, now)) return { isAdmin: true };
  if (isDelegate(snapshot, query, now)) return { isAdmin: false };
  throw new ForbiddenError(`caller lacks \`${query.right}\` on \`${query.domain}:${query.object}\``);
}

/** Whether the policy of `sys.auth` gives the right on `sys.auth:domain.<domain>`. */
export function isOperator(snapshot: Snapshot, query: Omit<RightQuery, 'object'>, now: number): boolean {
  return isAllowed(snapshot, query, `${systemDomain}:domain.${query.domain}`, now)?.granted === true;
}

/** Whether the policy of `sys.auth` may give the right on any domain at all. One that it gives nothing need not be asked which. */
export function mayOperateSome(snapshot: Snapshot, caller: PrincipalName, right: Right, now: number): boolean {
  const system = snapshot.domain(systemDomain);
  if (system === undefined) return false;
  const held = grantedRoles(snapshot, system, caller, now).map(({ name }) => fullRoleName(systemDomain, name));
  const gives = ({ effect, action, role }: WirePolicy['assertions'][number]) =>
    effect !== 'DENY' &&
    matchesPattern(foldAscii(action), right) &&
    held.some((name) => matchesPattern(foldAscii(role), name));
  return (
    held.length > 0 && system.policies.some(({ active, assertions }) => active !== false && assertions.some(gives))
  );
}

/** Whether the caller is in the role `admin` of the domain. */
function isOwner(snapshot: Snapshot, { caller, domain }: RightQuery, now: number): boolean {
  const own = snapshot.domain(domain);
  return own !== undefined && grantedRoles(snapshot, own, caller, now).some(({ name }) => name === adminRole);
}

/** Whether the caller may look at the domain: who may manage anything of it may. */
export function mayView(
  snapshot: Snapshot,
  { caller, domain, object }: Pick<RightQuery, 'caller' | 'domain' | 'object'>,
  now: number,
): boolean {
  const query = { caller, right: 'view_domain', domain, object } as const;
  if (seesAll(snapshot, query, now)) return true;
  const own = snapshot.domain(domain);
  // Most callers hold nothing in most domains.
  if (own === undefined || grantedRoles(snapshot, own, caller, now).length === 0) return false;
  return rights.some((right) => isDelegate(snapshot, { ...query, right }, now));
}

/** Whether all of a domain is visible to the caller, whatever its assertions say of single objects. */
function seesAll(snapshot: Snapshot, query: RightQuery, now: number): boolean {
  return isOperator(snapshot, query, now) || isOwner(snapshot, query, now);
}

/** What the caller may look at, as the snapshot has it. */
export function viewerOf(snapshot: Snapshot, caller: PrincipalName, now: number): Viewer {
  return {
    seesAll: (domain) => seesAll(snapshot, { caller, right: 'view_domain', domain, object: 'domain' }, now),
    sees: (domain, object) => mayView(snapshot, { caller, domain, object }, now),
  };
}

/**
 * INVARIANT: an assertion names the right. A tenant's `*` for its own resources hands out no management by accident; and it denies none
 * from those to whom another assertion gives it.
 */
function isDelegate(snapshot: Snapshot, query: RightQuery, now: number): boolean {
  const { caller, right, domain, object } = query;
  const resource = `${domain}:${object}`;
  // Any DENY wins.
  if (isAllowed(snapshot, query, resource, now)?.granted !== true) return false;
  const own = snapshot.domain(domain);
  if (own === undefined) return false;
  const held = grantedRoles(snapshot, own, caller, now).map(({ name }) => fullRoleName(domain, name));
  const work = new Work();
  const gives = (assertion: WirePolicy['assertions'][number]) =>
    assertion.effect !== 'DENY' &&
    assertion.conditions === undefined &&
    namesRight(assertion.action) &&
    matchesPattern(foldAscii(assertion.action), right, work) &&
    matchesPattern(foldAscii(assertion.resource), resource, work) &&
    held.some((role) => matchesPattern(foldAscii(assertion.role), role, work));
  try {
    return own.policies.some(({ active, assertions }) => active !== false && assertions.some(gives));
  } catch (error) {
    // As a decision that costs too much.
    if (error instanceof WorkExceededError) return false;
    throw error;
  }
}

function isAllowed(
  snapshot: Snapshot,
  { caller, right }: Pick<RightQuery, 'caller' | 'right'>,
  resource: string,
  now: number,
) {
  const domain = resource.slice(0, resource.indexOf(':'));
  if (!snapshot.domains.has(domain as DomainName)) return undefined;
  return checkAccess(snapshot, { principal: caller, action: authorityAction(right), resource }, now);
}

/** Whether an action is a right to manage, or a pattern of such. */
function namesRight(action: string): boolean {
  const folded = action.toLowerCase();
  return folded.startsWith('manage_') || folded === 'view_domain';
}
