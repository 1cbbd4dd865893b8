import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { describeRule } from './describe-rule.ts';

/** What to look for; several together must all fit. */
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

/** Where a principal is a member, and which active rules speak of a resource or action; wildcards of either side count. Pure. */
export function search(
  snapshot: Snapshot,
  query: SearchQuery,
  isVisible: (domain: DomainName) => boolean,
): SearchHit[] {
  const names = [...snapshot.domains.keys()].filter(isVisible).sort();
  return names.flatMap((domain) => [
    ...(query.member === undefined ? [] : memberHits(snapshot, domain, foldAscii(query.member))),
    ...(query.resource === undefined && query.action === undefined ? [] : ruleHits(snapshot, domain, query)),
  ]);
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
