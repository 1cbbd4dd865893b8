import { type DomainName, foldAscii, fullRoleName, servicePrincipal } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { mayBeOf } from '../../access/authority.ts';
import { type DomainChange, written } from '../../model/domain-change.ts';
import { type AssertionRecord, fullNameOf } from '../../model/records.ts';
import type { StoreReader } from '../../model/store.ts';
import { wildcardsOf } from '../affected-domains.ts';
import { activeAssertions, changedAssertions, isAbout, reviewedGrants } from './reviewed-grants.ts';
import { assumptions } from './touched-roles.ts';

interface OpenedDomain {
  readonly domain: DomainName;
  readonly approvals: number;
}

/**
 * Protected domains in which a service of the changed one may act without approval (`apply_reviewed`, `break_glass`), where the change concerns
 * who can be that service: its keys and settings, or the assertions by which instances become it. Roles list it by name, by a wildcard or in a
 * group, also disabled or expired: an entry can be enabled later without another look at the keys.
 */
export async function domainsOpenedBy(change: DomainChange, reader: StoreReader): Promise<readonly OpenedDomain[]> {
  const names = await concernedNames(change, reader);
  if (names.length === 0) return [];
  const entries = [...names, ...(await reader.groupsWithMember({ names, prefixes: [] }))];
  const lendings = await reader.domainsWithMember({ names: entries, prefixes: [] });
  const protectedDomains = await reader.protectedAmong([...lendings, ...(await reader.domainsTrusting(lendings))]);
  if (protectedDomains.size === 0) return [];
  const found: OpenedDomain[] = [];
  for (const lending of lendings) {
    for (const domain of [lending, ...(await reader.domainsTrusting([lending]))]) {
      const approvals = protectedDomains.get(domain);
      if (approvals !== undefined && (await actsAlone({ domain, lending, entries }, reader))) {
        found.push({ domain, approvals });
      }
    }
  }
  return found;
}

/** Names of members that may mean a service which the change concerns. */
async function concernedNames(change: DomainChange, reader: StoreReader): Promise<readonly string[]> {
  const { name, services, policies } = change;
  const own = [...services.removed, ...written(services)].map((service) => servicePrincipal(name, service.name));
  const launching = changedAssertions(policies, launches).map(({ resource }) => foldAscii(resource));
  const isLaunched = (member: string) =>
    launching.some((pattern) =>
      [`${name}:service`, `${name}:service.${member.slice(name.length + 1)}`].some((resource) =>
        matchesPattern(pattern, resource),
      ),
    );
  const listed = launching.length === 0 ? [] : await reader.membersOf(name);
  const launched = listed.filter((member) => member.endsWith('*') || isLaunched(member));
  const wildcards = launching.length === 0 ? [] : wildcardsOf(`${name}.`);
  return [
    ...new Set([...own.flatMap((principal) => [principal, ...wildcardsOf(principal)]), ...launched, ...wildcards]),
  ];
}

/** Assertions by which instances become services, or callers get what makes them one: certificates and join tokens. */
function launches(assertions: readonly AssertionRecord[]): readonly AssertionRecord[] {
  return assertions.filter(
    ({ action, resource }) =>
      ['launch', 'update'].some((name) => matchesPattern(foldAscii(action), name)) && mayBeOf(resource, 'service'),
  );
}

interface Listing {
  readonly domain: DomainName;
  /** The domain whose roles list the entries: the same, or one that it trusts. */
  readonly lending: DomainName;
  readonly entries: readonly string[];
}

/** True if the members of the roles with such an entry may change the domain without approval, by themselves or by a role that they assume. */
async function actsAlone({ domain, lending, entries }: Listing, reader: StoreReader): Promise<boolean> {
  const assertions = activeAssertions(await reader.policies(domain));
  const grants = reviewedGrants(domain, assertions);
  if (grants.length === 0) return false;
  const listing = (await reader.entries(lending, entries)).map(({ list }) => fullNameOf(list));
  const lent = lending === domain ? assertions : activeAssertions(await reader.policies(lending));
  const assumed = assumptions(lent)
    .filter((one) => listing.some((full) => isAbout(one, full)))
    .map(({ resource }) => foldAscii(resource));
  const roles = (await reader.listNames(domain, 'role')).map((role) => fullRoleName(domain, role));
  const holds = (full: string) => listing.includes(full) || assumed.some((pattern) => matchesPattern(pattern, full));
  return roles.some((full) => holds(full) && grants.some((one) => isAbout(one, full)));
}
