import { foldAscii, fullRoleName, type RoleName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { type DomainChange, listName } from '../../model/domain-change.ts';
import { type AssertionRecord, fullNameOf } from '../../model/records.ts';
import type { StoreReader } from '../../model/store.ts';
import { activeAssertions, changedAssertions, isAbout } from './reviewed-grants.ts';

/**
 * Predicate for the roles of the domain in which others may be after a change: their fields or members change, or a group of the domain that they
 * list, or an assertion `assume_role` that may match them; or one of these is true for a role whose members may assume them.
 */
export async function rolesWithOtherMembers(
  change: DomainChange,
  reader: Pick<StoreReader, 'entries' | 'policies'>,
): Promise<(role: RoleName) => boolean> {
  const { name, policies } = change;
  const changed = await changedRoles(change, reader);
  const names = [...changed];
  const standing = names.length === 0 ? [] : assumptions(activeAssertions(await reader.policies(name)));
  const assumed = [
    ...changedAssertions(policies, assumptions),
    ...standing.filter((one) => names.some((full) => isAbout(one, full))),
  ].map(({ resource }) => foldAscii(resource));
  return (role) => {
    const full = fullRoleName(name, role);
    return changed.has(full) || assumed.some((pattern) => matchesPattern(pattern, full));
  };
}

/** Assertions, also with wildcards in their action, by which members of a role assume another one. */
export function assumptions(assertions: readonly AssertionRecord[]): readonly AssertionRecord[] {
  return assertions.filter(({ action }) => matchesPattern(foldAscii(action), 'assume_role'));
}

/** Full names of roles that change, and of those that list a group of the domain that does. */
async function changedRoles(
  { name, roles, groups }: DomainChange,
  reader: Pick<StoreReader, 'entries'>,
): Promise<ReadonlySet<string>> {
  const found = new Set(roles.map((role) => fullRoleName(name, listName(role))));
  if (groups.length === 0) return found;
  const names = groups.map((group) => `${name}:group.${listName(group)}`);
  for (const { list } of await reader.entries(name, names)) if (list.kind === 'role') found.add(fullNameOf(list));
  return found;
}
