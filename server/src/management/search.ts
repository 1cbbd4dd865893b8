import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { runInSlices, type Steps } from '../snapshot/steps.ts';
import type { Store, StoreReader } from '../store/store.ts';
import { wildcardsOf } from './affected-domains.ts';
import { describeRule } from './describe-rule.ts';

/** What to look for: members, or rules that speak of a resource, an action or both; or everything of both kinds. */
export interface SearchQuery {
  /** A principal, group or pattern as it may stand in a role or group. */
  readonly member?: string;
  /** `domain:entity`, or an entity of any domain. */
  readonly resource?: string;
  readonly action?: string;
}

export interface SearchHit {
  readonly domain: DomainName;
  readonly kind: 'role' | 'group' | 'assertion';
  /** The role or group, or the policy with its version. */
  readonly name: string;
  /** The entry that fits, or the rule. */
  readonly entry: string;
}

export interface SearchDeps {
  readonly snapshot: Snapshot;
  readonly store: Pick<Store, 'view'>;
  readonly isVisible: (domain: DomainName) => boolean;
  /** Whether the members of a role or group may be seen. */
  readonly sees: (domain: DomainName, object: string) => boolean;
}

/** Where a principal is a member, and which active rules speak of a resource or action; wildcards of either side count. */
export async function search(deps: SearchDeps, query: SearchQuery): Promise<SearchHit[]> {
  const { snapshot, store, isVisible, sees } = deps;
  const member = query.member === undefined ? undefined : foldAscii(query.member);
  const named = member === undefined ? [] : await store.view((reader) => domainsNaming(reader, member));
  const hits = named
    .filter(isVisible)
    .flatMap((domain) => memberHits(snapshot, domain, member ?? ''))
    .filter(({ domain, kind, name }) => sees(domain, `${kind}.${name}`));
  if (query.resource === undefined && query.action === undefined) return hits;
  return [...hits, ...(await runInSlices(rulesInSteps(snapshot, query, isVisible)))];
}

/** The domains with a role or group that has the member, or a wildcard that covers it. */
async function domainsNaming(reader: StoreReader, member: string): Promise<readonly DomainName[]> {
  const roles = await reader.domainsWithMember({ names: [member, ...wildcardsOf(member)], prefixes: [] });
  const groups = await reader.groupsWithMember({ names: [member], prefixes: [] });
  const owners = groups.map((group) => group.slice(0, group.indexOf(':')) as DomainName);
  return [...new Set([...roles, ...owners])];
}

function* rulesInSteps(
  snapshot: Snapshot,
  query: SearchQuery,
  isVisible: (domain: DomainName) => boolean,
): Steps<SearchHit[]> {
  const hits: SearchHit[] = [];
  for (const domain of snapshot.domains.keys()) {
    if (isVisible(domain)) hits.push(...ruleHits(snapshot, domain, query));
    yield;
  }
  return hits;
}

function memberHits(snapshot: Snapshot, domain: DomainName, member: string): SearchHit[] {
  const found = snapshot.domain(domain);
  const roles = [...(found?.roles.values() ?? [])].flatMap((role) =>
    [...role.members]
      .filter(({ name }) => name === member || (name.endsWith('*') && matchesPattern(name, member)))
      .map(({ name }): SearchHit => ({ domain, kind: 'role', name: role.name, entry: name })),
  );
  const groups = (found?.membership.groupMembers.get(member) ?? []).map(
    ({ group }): SearchHit => ({ domain, kind: 'group', name: group.slice(`${domain}:group.`.length), entry: member }),
  );
  return [...roles, ...groups];
}

function ruleHits(snapshot: Snapshot, domain: DomainName, { resource, action }: SearchQuery): SearchHit[] {
  const wanted = resource === undefined ? undefined : foldAscii(resource);
  const full = wanted === undefined || wanted.includes(':') ? wanted : `${domain}:${wanted}`;
  const active = snapshot.domain(domain)?.policies.filter((policy) => policy.active !== false) ?? [];
  return active.flatMap((policy) =>
    policy.assertions
      .filter((rule) => full === undefined || matchesPattern(foldAscii(rule.resource), full))
      .filter((rule) => action === undefined || matchesPattern(foldAscii(rule.action), foldAscii(action)))
      .map((rule): SearchHit => {
        return { domain, kind: 'assertion', name: policy.name, entry: describeRule(rule) };
      }),
  );
}
