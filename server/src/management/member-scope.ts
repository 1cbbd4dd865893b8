import type { DomainName } from '@signet/policy-engine/names';
import type { DomainRecord } from '../model/records.ts';
import type { DomainExcerpt, MemberScope, StoreReader } from '../model/store.ts';

/** For changes that have nothing to do with members. */
export const noMembers: MemberScope = { roles: [], groups: [], names: [] };

/**
 * The domain with the members that a change in `scope` is judged by. Whoever touches an administrator needs to see all of them, with
 * the groups that are among them, to know whether one is left.
 */
export async function readForChange(
  reader: StoreReader,
  name: DomainName,
  scope: MemberScope,
): Promise<DomainExcerpt | undefined> {
  const excerpt = await reader.excerpt(name, scope);
  const [role] = administratorRoles(excerpt);
  if (role === undefined || role.members.length === 0) return excerpt;
  const roles = [...scope.roles.filter((other) => other !== role.name), role.name];
  const whole = await reader.excerpt(name, { ...scope, roles });
  const members = new Set(administratorRoles(whole).flatMap((admin) => admin.members.map((member) => member.name)));
  const groups = (whole?.content.groups ?? [])
    .map((group) => group.name)
    .filter((group) => scope.groups.includes(group) || members.has(`${name}:group.${group}`));
  return groups.length === scope.groups.length ? whole : await reader.excerpt(name, { ...scope, roles, groups });
}

/** The domain with all of its members. */
export async function readWhole(reader: StoreReader, name: DomainName): Promise<DomainExcerpt | undefined> {
  const content = await reader.domain(name);
  return content && { content, otherMembers: 0, withoutRules: false };
}

function administratorRoles(excerpt: DomainExcerpt | undefined): readonly DomainRecord['roles'][number][] {
  return excerpt?.content.roles.filter((role) => role.name === 'admin') ?? [];
}
