import { type ActionName, type DomainName, type PrincipalName, parseDomainName } from '@signet/policy-engine/names';
import { checkAccess } from '../access/check-access.ts';
import { ForbiddenError } from '../errors.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** What somebody may be allowed to do with a domain; the names are actions of policies. */
export const rights = [
  'view_domain',
  'manage_domain',
  'manage_members',
  'manage_policies',
  'manage_services',
  'manage_keys',
] as const;
export type Right = (typeof rights)[number];

export const systemDomain: DomainName = parseDomainName('sys.auth');
/** The role of a domain whose members may do everything with it. */
export const adminRole = 'admin';

/** What a caller wants to do, and with what: `role.reader`, `group.team`, `policy.movies`, `service.api`, `domain`. */
export interface RightQuery {
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
  return (
    isAllowed(snapshot, query.caller, query.right, `${systemDomain}:domain.${query.domain}`, now)?.granted === true
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
  caller: PrincipalName,
  domain: DomainName,
  object: string,
  now: number,
): boolean {
  const query = { caller, right: 'view_domain', domain, object } as const;
  if (isOperator(snapshot, query, now)) return true;
  const own = snapshot.domain(domain);
  const roles = own === undefined ? [] : grantedRoles(snapshot, own, caller, now);
  if (roles.some(({ name }) => name === adminRole)) return true;
  // Most callers hold nothing in most domains.
  return roles.length > 0 && rights.some((right) => isDelegate(snapshot, { ...query, right }, now));
}

/** INVARIANT: the rule names the right. A tenant's `*` for its own resources hands out no management by accident. */
function isDelegate(snapshot: Snapshot, { caller, right, domain, object }: RightQuery, now: number): boolean {
  const answer = isAllowed(snapshot, caller, right, `${domain}:${object}`, now);
  return answer?.granted === true && namesRight(answer.decision.assertion?.action ?? '');
}

function isAllowed(snapshot: Snapshot, principal: PrincipalName, right: Right, resource: string, now: number) {
  const domain = resource.slice(0, resource.indexOf(':'));
  if (!snapshot.domains.has(domain as DomainName)) return undefined;
  // Every right is in the grammar of actions.
  return checkAccess(snapshot, { principal, action: right as string as ActionName, resource }, now);
}

/** Whether an action is a right to manage, or a pattern of such. */
export function namesRight(action: string): boolean {
  const folded = action.toLowerCase();
  return folded.startsWith('manage_') || folded === 'view_domain';
}
