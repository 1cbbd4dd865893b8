import { formatTimestamp } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern, Work } from '@signet/policy-engine/policy';
import type { Store, StoreReader } from '../model/store.ts';
import { coveringEntries } from '../snapshot/domain-members.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import { wildcardsOf } from './affected-domains.ts';
import { describeAssertion } from './describe-assertion.ts';
import { behind, type ListPage, sortedDomains } from './sorted-domains.ts';

/** Search criteria: members, or assertions that name a resource, an action or both; or everything of both kinds. */
interface SearchQuery {
  /** A principal, group or pattern as it may stand in a role or group. */
  readonly member?: string;
  /** `domain:entity`, or an entity of any domain. */
  readonly resource?: string;
  readonly action?: string;
}

interface SearchHit {
  readonly domain: DomainName;
  readonly kind: 'role' | 'group' | 'assertion';
  /** The role or group, or the policy with its version. */
  readonly name: string;
  /** The entry that fits, or the assertion. */
  readonly entry: string;
  /** End of the membership, as a time; absent for an assertion and for a membership without end. */
  readonly expires?: string;
  /** The membership is disabled. */
  readonly disabled?: true;
}

export interface SearchDeps {
  readonly snapshot: Snapshot;
  readonly store: Pick<Store, 'view'>;
  readonly isVisible: (domain: DomainName) => boolean;
  /** Predicate: the members of a role or group may be seen. */
  readonly sees: (domain: DomainName, object: string) => boolean;
  /** Called with the number of members and assertions that were compared, as the search goes on. */
  readonly looked: (rows: number) => void;
  /** Called with the cost of comparing patterns, in units of `maxWork` of the engine. */
  readonly compared: (work: number) => void;
}

/** The place of a hit in the list of all: by domain, kind, name and entry. */
export function keyOfHit({ domain, kind, name, entry }: SearchHit): string {
  return JSON.stringify([domain, kind, name, entry]);
}

/**
 * Finds the memberships of a principal, or the active assertions that name a resource or action; wildcards of either side count. At most `limit`
 * hits of those whose keys come after `after`, sorted: domains behind them are not searched, and other requests have their turn meanwhile.
 */
export async function search(deps: SearchDeps, query: SearchQuery, after: string, limit: number): Promise<SearchHit[]> {
  const member = query.member === undefined ? undefined : foldAscii(query.member);
  const named = member === undefined ? [] : await deps.store.view((reader) => domainsNaming(reader, member));
  return await runInSlices(hitsInSteps(deps, query, { member, named: new Set(named) }, { after, limit }));
}

function searchesAssertions({ resource, action }: SearchQuery): boolean {
  return resource !== undefined || action !== undefined;
}

interface WantedMember {
  readonly member: string | undefined;
  readonly named: ReadonlySet<DomainName>;
}

function* hitsInSteps(
  deps: SearchDeps,
  query: SearchQuery,
  { member, named }: WantedMember,
  page: ListPage,
): Steps<SearchHit[]> {
  const { snapshot, isVisible } = deps;
  const hits: SearchHit[] = [];
  for (const [domain, prefix] of sortedDomains(searchesAssertions(query) ? snapshot.domains.keys() : named)) {
    yield;
    if (prefix < page.after.slice(0, prefix.length) || !isVisible(domain)) continue;
    const shown = named.has(domain) ? yield* shownHits(deps, domain, member ?? '') : [];
    const assertions = yield* assertionHits(deps, domain, query);
    for (const hit of yield* behind(page.after, [...shown, ...assertions], keyOfHit)) hits.push(hit);
    if (hits.length >= page.limit) return hits.slice(0, page.limit);
  }
  return hits;
}

/** The domains with a role or group that has the member, or a wildcard that covers it. */
async function domainsNaming(reader: StoreReader, member: string): Promise<readonly DomainName[]> {
  const roles = await reader.domainsWithMember({ names: [member, ...wildcardsOf(member)], prefixes: [] });
  const groups = await reader.groupsWithMember({ names: [member], prefixes: [] });
  const owners = groups.map((group) => group.slice(0, group.indexOf(':')) as DomainName);
  return [...new Set([...roles, ...owners])];
}

/** Hits in roles and groups that may be seen: a decision for each. */
function* shownHits(deps: SearchDeps, domain: DomainName, member: string): Steps<SearchHit[]> {
  const { sees } = deps;
  const shown: SearchHit[] = [];
  for (const hit of yield* memberHits(deps, domain, member)) {
    yield;
    if (sees(domain, `${hit.kind}.${hit.name}`)) shown.push(hit);
  }
  return shown;
}

function* memberHits({ snapshot, looked }: SearchDeps, domain: DomainName, member: string): Steps<SearchHit[]> {
  const members = snapshot.members.get(domain);
  if (members === undefined) return [];
  const hits: SearchHit[] = [];
  for (const { entry, roles } of coveringEntries(members, member)) {
    for (const { list, until } of roles) {
      yield;
      hits.push({ domain, kind: 'role', name: list, entry, ...endOf(until) });
    }
  }
  hits.sort((a, b) => (`${a.name} ${a.entry}` < `${b.name} ${b.entry}` ? -1 : 1));
  for (const { list, until } of members.groupMembers.get(member) ?? []) {
    hits.push({ domain, kind: 'group', name: list.slice(`${domain}:group.`.length), entry: member, ...endOf(until) });
  }
  looked(hits.length);
  return hits;
}

function endOf(until: number): Pick<SearchHit, 'expires' | 'disabled'> {
  if (until === Number.NEGATIVE_INFINITY) return { disabled: true };
  return Number.isFinite(until) ? { expires: formatTimestamp(until) } : {};
}

/** None when no assertions are looked for. */
function* assertionHits(
  { snapshot, looked, compared }: SearchDeps,
  domain: DomainName,
  query: SearchQuery,
): Steps<SearchHit[]> {
  if (!searchesAssertions(query)) return [];
  const fits = speaksOf(domain, query, compared);
  const hits: SearchHit[] = [];
  const active = snapshot.domain(domain)?.policies.filter((policy) => policy.active !== false) ?? [];
  for (const { name, assertions } of active) {
    looked(assertions.length);
    for (const assertion of assertions) {
      // A pattern may cost as much as a hundred plain texts.
      yield;
      if (fits(assertion)) hits.push({ domain, kind: 'assertion', name, entry: describeAssertion(assertion) });
    }
  }
  return hits;
}

/** True if an assertion of the domain matches the search. */
function speaksOf(domain: DomainName, { resource, action }: SearchQuery, compared: SearchDeps['compared']) {
  const wanted = resource === undefined ? undefined : foldAscii(resource);
  const full = wanted === undefined || wanted.includes(':') ? wanted : `${domain}:${wanted}`;
  return (assertion: { readonly resource: string; readonly action: string }) => {
    const work = new Work(Number.MAX_SAFE_INTEGER);
    const isNamed =
      (full === undefined || matchesPattern(foldAscii(assertion.resource), full, work)) &&
      (action === undefined || matchesPattern(foldAscii(assertion.action), foldAscii(action), work));
    compared(work.spent);
    return isNamed;
  };
}
