import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import type { DomainChange } from '../model/domain-change.ts';
import type { DomainContent } from '../model/records.ts';
import type { StoreReader, StoreTransaction } from '../model/store.ts';
import { diffInSteps } from '../store/diff-domains.ts';
import { lostGroups } from './safeguards.ts';
import type { StoreAfter } from './store-after.ts';

/** Predicate: the author of a change may know of a domain. */
type SeesDomain = (domain: DomainName) => boolean;

/**
 * Warnings for the author about other domains whose roles have groups that the change removes. These entries stay and grant nothing: owners may
 * always delete their own groups.
 */
export async function danglingWarnings(
  change: DomainChange,
  after: Pick<StoreAfter, 'domainsWithMember'>,
  sees: SeesDomain,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const group of lostGroups(change)) {
    const users = await usersOf(after, change.name, group);
    const text = `a role with the group \`${group}\`, which grants nothing any more`;
    warnings.push(...toldOf(users, sees).map((who) => `${who} ${text}`));
  }
  return warnings;
}

/** The other domains with a role that has the group, disabled or not. */
export async function usersOf(
  after: Pick<StoreAfter, 'domainsWithMember'>,
  owner: DomainName,
  group: string,
): Promise<readonly DomainName[]> {
  return (await after.domainsWithMember([group])).filter((name) => name !== owner);
}

/** Subjects of sentences: the domains that may be named, and one for all others. */
function toldOf(users: readonly DomainName[], sees: SeesDomain): string[] {
  const seen = users.filter(sees);
  const others = seen.length < users.length ? ['a domain that you may not look at has'] : [];
  return [...seen.map((name) => `domain \`${name}\` has`), ...others];
}

/** The other domains whose roles have groups of the domain, or trust it. */
export async function domainsReferringTo(reader: StoreReader, domain: DomainName): Promise<readonly DomainName[]> {
  const groups = await reader.domainsWithMember({ names: [], prefixes: [`${domain}:group.`] });
  const trusting = await reader.domainsTrusting([domain]);
  return [...new Set([...groups, ...trusting])].filter((name) => name !== domain).sort();
}

/**
 * Removes the groups and the trust of a deleted domain from the roles of all others: the next domain of its name may have another owner. Returns
 * warnings for the author.
 */
export async function removeReferencesTo(
  transaction: StoreTransaction,
  domain: DomainName,
  sees: SeesDomain,
): Promise<string[]> {
  const users = await domainsReferringTo(transaction, domain);
  for (const name of users) {
    const content = await transaction.domain(name);
    if (content !== undefined)
      await transaction.save(await runInSlices(diffInSteps(content, withoutReferencesTo(content, domain))));
  }
  return referenceWarnings(users, domain, sees);
}

/** Warnings for the author of a deletion about the domains that refer to the deleted object. */
export function referenceWarnings(users: readonly DomainName[], domain: DomainName, sees: SeesDomain): string[] {
  return toldOf(users, sees).map(
    (who) => `${who} roles with groups of \`${domain}\` or that trust it: these references end`,
  );
}

function withoutReferencesTo(content: DomainContent, domain: DomainName): DomainContent {
  const roles = content.roles.map(({ trust, members, ...role }) => ({
    ...role,
    ...(trust !== undefined && trust !== domain && { trust }),
    members: members.filter(({ name }) => !name.startsWith(`${domain}:group.`)),
  }));
  return { ...content, roles };
}
