import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, type PrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import { type AuthorityAssertion, bearsAuthority } from '../access/authority.ts';
import { type DomainChange, listName, written } from '../model/domain-change.ts';
import type { AssertionRecord, PolicyRecord } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import { RolePatterns } from '../roles/role-patterns.ts';
import { rolesListing } from '../snapshot/domain-members.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { wildcardsOf } from './affected-domains.ts';
import { adminRole, systemDomain } from './rights.ts';
import type { StoreAfter } from './store-after.ts';

/** Dependencies beside the change. */
interface ManagersDeps {
  readonly snapshot: Snapshot;
  readonly reader: Pick<StoreReader, 'domainsWithMember' | 'groupsWithMember'>;
  readonly after: Pick<StoreAfter, 'entries' | 'policies'>;
}

/**
 * True if a change affects who has authority: the roles that carry some, the assertions that give it, the groups and the services in such roles,
 * whose keys are as good as their membership.
 */
export async function changesManagers(change: DomainChange, deps: ManagersDeps): Promise<boolean> {
  const { name: domain, policies } = change;
  if (domain === systemDomain) return true;
  if (changesAuthority(policies)) return true;
  // Invariant from here on: the assertions that give authority are the same before and after, and from the next line on the roles that have
  // some.
  const isPowerful = powerIn(
    domain,
    change.roles.length + change.groups.length === 0 ? [] : await deps.after.policies(domain),
  );
  if (change.roles.map(listName).some((role) => isPowerful(role))) return true;
  for (const name of change.groups.map(listName)) {
    const group = `${domain}:group.${name}`;
    const entries = await deps.after.entries(domain, [group]);
    if (entries.some(({ list }) => list.kind === 'role' && isPowerful(list.name))) return true;
    // The group's use elsewhere is known only roughly: any role there that it is in may be one with authority.
    const users = await deps.reader.domainsWithMember({ names: [group], prefixes: [] });
    if (users.some((user) => user !== domain)) return true;
  }
  for (const { name } of [...change.services.removed, ...written(change.services)]) {
    if (await isListedInPower(servicePrincipal(domain, name), deps)) return true;
  }
  return false;
}

/** True if a change affects the assertions that give authority. */
export function changesAuthority(policies: DomainChange['policies']): boolean {
  const was = powerfulAssertions([...policies.removed, ...policies.changed.map(({ before }) => before)]);
  return was.join('\n') !== powerfulAssertions(written(policies)).join('\n');
}

/**
 * True if some role with authority lists the principal, itself or in a group. Entries that are disabled or have expired count as well: they can
 * be enabled later without another look at the keys.
 */
async function isListedInPower(principal: PrincipalName, { snapshot, reader }: ManagersDeps): Promise<boolean> {
  const own = [principal, ...wildcardsOf(principal)];
  const groups = await reader.groupsWithMember({ names: own, prefixes: [] });
  const names = new Set([...own, ...groups]);
  const domains = await reader.domainsWithMember({ names: [...names], prefixes: [] });
  const pause = pauseBetweenSlices();
  // A wildcard for all principals may concern all domains, each with its assertions.
  for (const domain of domains) {
    if (isMemberInPower(snapshot, domain, names)) return true;
    await pause();
  }
  return false;
}

/** True if a role with authority in the domain has one of these members. */
export function isMemberInPower(snapshot: Snapshot, name: DomainName, entries: ReadonlySet<string>): boolean {
  const domain = snapshot.domain(name);
  // Disabled: what its roles are good for is not known here, and it may be enabled again.
  if (domain === undefined) return true;
  const assertions = () =>
    domain.policies.filter(({ active }) => active !== false).flatMap(({ assertions }) => assertions);
  const isPowerful = powerBy(name, assertions, true);
  const listed = snapshot.members.get(name);
  return (
    listed === undefined ||
    [...entries].some((entry) => rolesListing(listed, entry).some(({ list }) => isPowerful(list)))
  );
}

function activeAssertions(policies: readonly PolicyRecord[]): readonly AssertionRecord[] {
  return policies.filter(({ active }) => active).flatMap(({ assertions }) => assertions);
}

function powerfulAssertions(policies: readonly PolicyRecord[]): string[] {
  return activeAssertions(policies)
    .filter(bearsAuthority)
    .map(({ effect, role, action, resource, conditions }) =>
      JSON.stringify([effect, role, action, resource, conditions]),
    )
    .sort();
}

type IsPowerful = (role: string) => boolean;

/**
 * Predicate for the roles of a domain whose holders have authority by its assertions. `beyond` is the result for a role when the assertions have
 * too many wildcards to find out.
 */
export function powerIn(domain: DomainName, policies: readonly PolicyRecord[], beyond = true): IsPowerful {
  return powerBy(domain, () => activeAssertions(policies), beyond);
}

function powerBy(
  domain: DomainName,
  assertions: () => readonly (AuthorityAssertion & { readonly role: string })[],
  beyond: boolean,
): IsPowerful {
  let patterns: RolePatterns | undefined;
  return (role) => {
    if (role === adminRole || domain === systemDomain) return true;
    patterns ??= new RolePatterns(
      assertions()
        .filter(bearsAuthority)
        .map(({ role }) => role),
    );
    return patterns.fits(`${domain}:role.${role}`, beyond);
  };
}
