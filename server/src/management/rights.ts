import {
  type ActionName,
  type DomainName,
  fullRoleName,
  type PrincipalName,
  parseDomainName,
} from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { checkAccess } from '../access/check-access.ts';
import { ForbiddenError } from '../errors.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffLists } from '../store/diff-domains.ts';
import type { DomainContent } from '../store/records.ts';

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
const adminRole = 'admin';

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
  if (isOperator(snapshot, query, now) || isOwner(snapshot, query, now)) return true;
  return rights.some((right) => isDelegate(snapshot, { ...query, right }, now));
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

function namesRight(action: string): boolean {
  const folded = action.toLowerCase();
  return folded.startsWith('manage_') || folded === 'view_domain';
}

/**
 * Whether a change touches who manages domains: the roles that do (or may assume other roles), the rules that say so, the groups in
 * them. `groupIsPowerful` looks at the other domains.
 */
export function changesManagers(before: DomainContent, after: DomainContent, snapshot: Snapshot): boolean {
  if (before.name === systemDomain) return true;
  const [was, is] = [powerfulRules(before), powerfulRules(after)];
  if (was.join('\n') !== is.join('\n')) return true;
  return (
    changedItems(before.roles, after.roles).some((name) => isPowerful(before, name) || isPowerful(after, name)) ||
    changedItems(before.groups, after.groups).some((name) =>
      isPowerfulGroup(before, after, `${before.name}:group.${name}`, snapshot),
    )
  );
}

/** The names of those that came, went or are not what they were. */
function changedItems<Item extends { readonly name: string }>(
  before: readonly Item[],
  after: readonly Item[],
): Item['name'][] {
  const { removed, added, changed } = diffLists(before, after, ({ name }) => name);
  return [...removed, ...added, ...changed.map((change) => change.after)].map(({ name }) => name);
}

function managingAssertions(content: DomainContent) {
  return content.policies
    .filter(({ active }) => active)
    .flatMap(({ assertions }) => assertions)
    .filter(({ action }) => namesRight(action) || action.toLowerCase() === 'assume_role');
}

function powerfulRules(content: DomainContent): string[] {
  return managingAssertions(content)
    .map(({ effect, role, action, resource, conditions }) =>
      JSON.stringify([effect, role, action, resource, conditions]),
    )
    .sort();
}

function isPowerful(content: DomainContent, role: DomainContent['roles'][number]['name']): boolean {
  if (role === adminRole) return true;
  const full = fullRoleName(content.name, role);
  return managingAssertions(content).some((assertion) => matchesPattern(assertion.role, full));
}

function isPowerfulGroup(before: DomainContent, after: DomainContent, group: string, snapshot: Snapshot): boolean {
  const own = [before, after].some((content) =>
    content.roles.some(({ name, members }) => members.some((one) => one.name === group) && isPowerful(content, name)),
  );
  // What the group is for elsewhere is known only roughly: any role there that it is in may be one that manages.
  return (
    own ||
    [...snapshot.domains.values()].some(
      ({ name, membership }) => name !== before.name && membership.groupRoles.has(group),
    )
  );
}
