import { type DomainName, fullRoleName, type PrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { diffLists } from '../store/diff-domains.ts';
import type { AssertionRecord, DomainContent } from '../store/records.ts';
import { adminRole, namesRight, systemDomain } from './rights.ts';

/** What is known beside the domain that changes. */
export interface ManagersDeps {
  readonly snapshot: Snapshot;
  readonly now: number;
  /** The other domains with a role that has the group. */
  readonly usersOf: (group: string) => Promise<readonly DomainName[]>;
  /** The domains in which a principal may hold a role. */
  readonly domainsOf: (principal: PrincipalName) => Promise<readonly DomainName[]>;
}

/**
 * Whether a change touches who manages domains: the roles that do (or may assume other roles), the rules that say so or that hand out
 * identities, the groups and the services in such roles, whose keys are as good as their membership.
 */
export async function changesManagers(
  before: DomainContent,
  after: DomainContent,
  { snapshot, now, usersOf, domainsOf }: ManagersDeps,
): Promise<boolean> {
  if (before.name === systemDomain) return true;
  if (powerfulRules(before).join('\n') !== powerfulRules(after).join('\n')) return true;
  if (changedItems(before.roles, after.roles).some((name) => isPowerful(before, name) || isPowerful(after, name))) {
    return true;
  }
  for (const name of changedItems(before.groups, after.groups)) {
    const group = `${before.name}:group.${name}`;
    // What the group is for elsewhere is known only roughly: any role there that it is in may be one that manages.
    if (isInPowerful(before, group) || isInPowerful(after, group) || (await usersOf(group)).length > 0) return true;
  }
  for (const name of changedItems(before.services, after.services)) {
    const principal = servicePrincipal(before.name, name);
    if ((await domainsOf(principal)).some((domain) => manages(snapshot, domain, principal, now))) return true;
  }
  return false;
}

/** Whether the principal holds a role that manages in the domain. */
function manages(snapshot: Snapshot, name: DomainName, principal: PrincipalName, now: number): boolean {
  const domain = snapshot.domain(name);
  // Switched off: what its roles are good for is not known here, and it may be switched on again.
  if (domain === undefined) return true;
  return grantedRoles(snapshot, domain, principal, now).some((role) => managesIn(domain, role.name));
}

/** The names of those that came, went or are not what they were. */
function changedItems<Item extends { readonly name: string }>(
  before: readonly Item[],
  after: readonly Item[],
): Item['name'][] {
  const { removed, added, changed } = diffLists(before, after, ({ name }) => name);
  return [...removed, ...added, ...changed.map((change) => change.after)].map(({ name }) => name);
}

type Rule = Pick<AssertionRecord, 'action' | 'resource' | 'role'>;

function isManaging({ action }: Rule): boolean {
  return namesRight(action) || action.toLowerCase() === 'assume_role';
}

/** Who holds `launch` or `update` on a service gets its certificates, and with them whatever the service may do. */
function handsOutIdentities({ action, resource }: Rule): boolean {
  if (!['launch', 'update'].some((right) => matchesPattern(action.toLowerCase(), right))) return false;
  const [plain = ''] = resource
    .slice(resource.indexOf(':') + 1)
    .toLowerCase()
    .split(/[*?]/, 1);
  return plain.startsWith('service') || 'service'.startsWith(plain);
}

function activeRules(content: DomainContent): readonly AssertionRecord[] {
  return content.policies.filter(({ active }) => active).flatMap(({ assertions }) => assertions);
}

function powerfulRules(content: DomainContent): string[] {
  return activeRules(content)
    .filter((rule) => isManaging(rule) || handsOutIdentities(rule))
    .map(({ effect, role, action, resource, conditions }) =>
      JSON.stringify([effect, role, action, resource, conditions]),
    )
    .sort();
}

function isPowerful(content: DomainContent, role: DomainContent['roles'][number]['name']): boolean {
  const full = fullRoleName(content.name, role);
  return role === adminRole || activeRules(content).some((rule) => isManaging(rule) && matchesPattern(rule.role, full));
}

function isInPowerful(content: DomainContent, member: string): boolean {
  return content.roles.some(
    ({ name, members }) => members.some((one) => one.name === member) && isPowerful(content, name),
  );
}

function managesIn({ name, policies }: DomainSnapshot, role: DomainContent['roles'][number]['name']): boolean {
  if (role === adminRole || name === systemDomain) return true;
  const full = fullRoleName(name, role);
  return policies.some(
    ({ active, assertions }) =>
      active !== false && assertions.some((rule) => isManaging(rule) && matchesPattern(rule.role, full)),
  );
}
