import { type DomainName, fullRoleName, type PrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import { type AuthorityAssertion, bearsAuthority } from '../access/authority.ts';
import type { AssertionRecord, DomainContent } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import { RolePatterns } from '../roles/role-patterns.ts';
import { rolesListing } from '../snapshot/domain-members.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffLists } from '../store/diff-domains.ts';
import { wildcardsOf } from './affected-domains.ts';
import { adminRole, systemDomain } from './rights.ts';

/** What is known beside the domain that changes. */
interface ManagersDeps {
  readonly snapshot: Snapshot;
  readonly reader: Pick<StoreReader, 'domainsWithMember' | 'groupsWithMember'>;
}

/**
 * Whether a change touches who has authority: the roles that carry some, the assertions that give it, the groups and the services in such
 * roles, whose keys are as good as their membership.
 */
export async function changesManagers(
  before: DomainContent,
  after: DomainContent,
  { snapshot, reader }: ManagersDeps,
): Promise<boolean> {
  if (before.name === systemDomain) return true;
  if (powerfulAssertions(before).join('\n') !== powerfulAssertions(after).join('\n')) return true;
  // From here on the assertions that give authority are the same before and after, and from the next line on the roles that have some.
  if (changedItems(before.roles, after.roles).some(powerIn(after))) return true;
  const inPower = membersInPower(after);
  for (const name of changedItems(before.groups, after.groups)) {
    const group = `${before.name}:group.${name}`;
    if (inPower.has(group)) return true;
    // What the group is for elsewhere is known only roughly: any role there that it is in may be one with authority.
    const users = await reader.domainsWithMember({ names: [group], prefixes: [] });
    if (users.some((user) => user !== before.name)) return true;
  }
  for (const name of changedItems(before.services, after.services)) {
    if (await isListedInPower(servicePrincipal(before.name, name), { snapshot, reader })) return true;
  }
  return false;
}

/**
 * Whether some role with authority lists the principal, itself or in a group. Entries that are disabled or have expired count as well:
 * they can be made to count by somebody who does not look at the keys again.
 */
async function isListedInPower(principal: PrincipalName, { snapshot, reader }: ManagersDeps): Promise<boolean> {
  const own = [principal, ...wildcardsOf(principal)];
  const groups = await reader.groupsWithMember({ names: own, prefixes: [] });
  const names = new Set([...own, ...groups]);
  const domains = await reader.domainsWithMember({ names: [...names], prefixes: [] });
  return domains.some((domain) => isMemberInPower(snapshot, domain, names));
}

/** Whether a role with authority in the domain has one of these members. */
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

/** The names of those that came, went or are not what they were. */
function changedItems<Item extends { readonly name: string }>(
  before: readonly Item[],
  after: readonly Item[],
): Item['name'][] {
  const { removed, added, changed } = diffLists(before, after, ({ name }) => name);
  return [...removed, ...added, ...changed.map((change) => change.after)].map(({ name }) => name);
}

type Policies = Pick<DomainContent, 'name' | 'policies'>;

function activeAssertions({ policies }: Policies): readonly AssertionRecord[] {
  return policies.filter(({ active }) => active).flatMap(({ assertions }) => assertions);
}

function powerfulAssertions(content: Policies): string[] {
  return activeAssertions(content)
    .filter(bearsAuthority)
    .map(({ effect, role, action, resource, conditions }) =>
      JSON.stringify([effect, role, action, resource, conditions]),
    )
    .sort();
}

type IsPowerful = (role: DomainContent['roles'][number]['name']) => boolean;

/**
 * Tells of the roles of a domain whether who holds them has authority by its assertions. `beyond` is what is said of a role when the rules have
 * too many wildcards to find out.
 */
export function powerIn(content: Policies, beyond = true): IsPowerful {
  return powerBy(content.name, () => activeAssertions(content), beyond);
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
    return patterns.fits(fullRoleName(domain, role), beyond);
  };
}

/** The members of the roles that have authority. */
function membersInPower(content: DomainContent): ReadonlySet<string> {
  const isPowerful = powerIn(content);
  return new Set(
    content.roles.filter(({ name }) => isPowerful(name)).flatMap(({ members }) => members.map(({ name }) => name)),
  );
}
