import type { DomainName, GroupName } from '@signet/policy-engine/names';
import type { DomainRecord } from '../model/records.ts';
import type { DomainExcerpt, DomainScope, StoreReader } from '../model/store.ts';

/** A whole domain without its members. */
export const noMembers: DomainScope = { roles: [], groups: [], names: [] };

/** The attributes of a domain alone. */
export const attributes: DomainScope = { ...noMembers, lists: [], policies: false, services: false };

/**
 * The domain with the members that a change in `scope` is judged by. Whoever touches an administrator needs to see all of them, with
 * the groups that are among them, to know whether one is left.
 */
export async function readForChange(
  reader: StoreReader,
  name: DomainName,
  scope: DomainScope,
): Promise<DomainExcerpt | undefined> {
  const excerpt = await reader.excerpt(name, scope);
  const [role] = administratorRoles(excerpt);
  if (role === undefined || role.members.length === 0) return excerpt;
  const roles = [...scope.roles.filter((other) => other !== role.name), role.name];
  const whole = await reader.excerpt(name, { ...scope, roles });
  const members = administratorRoles(whole).flatMap((admin) => admin.members.map((member) => member.name));
  const groups = [...new Set([...scope.groups, ...ownGroups(name, members)])];
  return groups.length === scope.groups.length ? whole : await reader.excerpt(name, { ...scope, roles, groups });
}

/** The groups of the domain that are among these members. */
export function ownGroups(domain: DomainName, members: readonly string[]): GroupName[] {
  const prefix = `${domain}:group.`;
  // Parsed with the member.
  return members.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length) as GroupName);
}

function administratorRoles(excerpt: DomainExcerpt | undefined): readonly DomainRecord['roles'][number][] {
  return excerpt?.content.roles.filter((role) => role.name === 'admin') ?? [];
}
