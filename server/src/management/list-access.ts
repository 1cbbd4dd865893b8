import {
  type ActionName,
  type DomainName,
  foldAscii,
  type PrincipalName,
  type RoleName,
} from '@signet/policy-engine/names';
import { type DomainPolicy, matchesPattern, Work } from '@signet/policy-engine/policy';
import type { WireAssertion, WireConditions } from '@signet/policy-engine/wire';
import { decideCounted } from '../access/decide-counted.ts';
import { seesPath } from '../access/visible-access.ts';
import { type ExplainedRole, explainHeldRoles, type RolePath } from '../roles/explain-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import { behind, type ListPage, sortedDomains } from './sorted-domains.ts';

/** Query: what may the principal do? */
interface AccessListQuery {
  readonly principal: PrincipalName;
  /** Filter: only assertions about this action. */
  readonly action?: ActionName;
  /** Filter: only assertions of this domain. */
  readonly domain?: DomainName;
}

/** An assertion that is about a role of the principal, and through what it holds that role. */
export interface AccessEntry {
  readonly domain: DomainName;
  /** Policy with its domain. */
  readonly policy: string;
  /** Id of the assertion in its policy. */
  readonly id: number;
  readonly effect: 'ALLOW' | 'DENY';
  readonly action: string;
  readonly resource: string;
  readonly conditions?: WireConditions;
  /** Set on an ALLOW without wildcards: a DENY without conditions revokes all of it. */
  readonly denied?: true;
  /** Roles, at most `maxThrough` of them, each with at most as many paths into it. */
  readonly through: readonly Pick<ExplainedRole, 'role' | 'paths'>[];
}

interface ListAccessDeps {
  readonly snapshot: Snapshot;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True if the caller is the principal: it may know its roles, and policies are no secret (decision 068). */
  readonly isSelf: boolean;
  /** Predicate: the caller may look at an object of a domain. */
  readonly sees: (domain: DomainName, object: string) => boolean;
  /** Called with the number of domains, roles and assertions that were read, as the list goes on. */
  readonly looked: (rows: number) => void;
  /** Called with the cost of decisions, in units of `maxWork` of the engine. */
  readonly compared: (work: number) => void;
}

/** Work of comparing a role with a pattern, as the engine counts it. */
const stepsAPattern = 10;
/** Roles of one entry, and ways into one role, that are listed. */
export const maxThrough = 20;

/** The place of an entry in the list of all: by domain, policy and assertion. */
export function keyOfEntry({ domain, policy, id }: Pick<AccessEntry, 'domain' | 'policy' | 'id'>): string {
  return JSON.stringify([domain, policy, String(id).padStart(16, '0')]);
}

/**
 * Every active assertion, ALLOW and DENY, about a role that the principal holds, as far as the caller may know, by domain, policy and
 * assertion. At most `limit` of those whose keys come after `after`: domains behind them are not looked at.
 */
export function* listAccessInSteps(
  deps: ListAccessDeps,
  query: AccessListQuery,
  { after, limit }: ListPage,
): Steps<AccessEntry[]> {
  const { domains } = deps.snapshot;
  const names = query.domain === undefined ? domains.keys() : [query.domain];
  const entries: AccessEntry[] = [];
  for (const [name, prefix] of sortedDomains(names)) {
    yield;
    const domain = domains.get(name);
    if (domain === undefined || prefix < after.slice(0, prefix.length)) continue;
    const page = { after, limit: limit - entries.length };
    for (const entry of yield* entriesOf(deps, query, domain, page)) entries.push(entry);
    if (entries.length >= limit) break;
  }
  return entries;
}

function* entriesOf(
  deps: ListAccessDeps,
  query: AccessListQuery,
  domain: DomainSnapshot,
  { after, limit }: ListPage,
): Steps<AccessEntry[]> {
  deps.looked(1);
  const held = yield* explainHeldRoles(deps.snapshot, domain, query.principal, deps);
  if (held.length === 0) return [];
  deps.looked(held.length);
  const shown = yield* shownRoles(deps, domain.name, held);
  if (shown.size === 0) return [];
  const found = yield* behind(after, yield* assertionsOf(deps, query.action, domain, shown), keyOfEntry);
  const roles = held.map(({ role }) => role);
  const entries: AccessEntry[] = [];
  for (const { assertion, ...place } of found.slice(0, limit)) {
    yield;
    const { effect = 'ALLOW', action, resource, conditions } = assertion;
    entries.push({
      ...place,
      effect,
      action,
      resource,
      ...(conditions !== undefined && { conditions }),
      ...(effect === 'ALLOW' && isDenied(deps, domain.policy, roles, assertion) && { denied: true }),
      through: rolesOf(domain.name, assertion, shown),
    });
  }
  return entries;
}

interface FoundAssertion extends Pick<AccessEntry, 'domain' | 'policy' | 'id'> {
  readonly assertion: WireAssertion;
}

/** Active assertions about one of the roles. */
function* assertionsOf(
  { looked, compared }: ListAccessDeps,
  action: ActionName | undefined,
  { name: domain, policies }: DomainSnapshot,
  shown: ShownRoles,
): Steps<FoundAssertion[]> {
  const found: FoundAssertion[] = [];
  for (const { name: policy, assertions } of policies.filter(({ active }) => active !== false)) {
    looked(assertions.length);
    for (const [index, assertion] of assertions.entries()) {
      // A pattern may cost as much as a hundred plain texts.
      yield;
      if (!isAbout(assertion, action, compared)) continue;
      if (/[*?]/.test(assertion.role)) compared(stepsAPattern * shown.size);
      if (rolesOf(domain, assertion, shown).length > 0)
        found.push({ domain, policy, id: assertion.id ?? index, assertion });
    }
  }
  return found;
}

/** Roles that the caller may know of, with the ways into them that it may know of. */
type ShownRoles = ReadonlyMap<RoleName, readonly RolePath[]>;

function* shownRoles(
  { sees, isSelf }: ListAccessDeps,
  domain: DomainName,
  held: readonly ExplainedRole[],
): Steps<ShownRoles> {
  const shown = new Map<RoleName, readonly RolePath[]>();
  if (!isSelf && !sees(domain, 'domain')) return shown;
  for (const { role, paths } of held) {
    yield;
    const isSeen = sees(domain, `role.${role}`);
    if (!isSelf && !isSeen) continue;
    const known = isSeen ? paths.slice(0, maxThrough).filter((path) => seesPath(sees, path)) : [];
    shown.set(role, known);
  }
  return shown;
}

function isAbout(
  assertion: WireAssertion,
  action: ActionName | undefined,
  compared: ListAccessDeps['compared'],
): boolean {
  if (action === undefined) return true;
  const work = new Work(Number.MAX_SAFE_INTEGER);
  const isNamed = matchesPattern(foldAscii(assertion.action), action, work);
  compared(work.spent);
  return isNamed;
}

/** Roles of the given ones that an assertion of the domain is about. */
function rolesOf(domain: DomainName, { role }: WireAssertion, shown: ShownRoles): AccessEntry['through'] {
  const pattern = withoutPrefix(withoutPrefix(role, `${domain}:`), 'role.');
  const names = /[*?]/.test(pattern)
    ? [...shown.keys()].filter((name) => matchesPattern(pattern, name)).slice(0, maxThrough)
    : [pattern as RoleName];
  return names.flatMap((name) => {
    const paths = shown.get(name);
    return paths === undefined ? [] : [{ role: name, paths }];
  });
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** True if the principal, who holds these roles, is denied all of a plain assertion regardless of a host's values. */
function isDenied(
  { compared }: ListAccessDeps,
  policy: DomainPolicy,
  held: readonly RoleName[],
  { action, resource }: WireAssertion,
): boolean {
  if (/[*?]/.test(action) || /[*?]/.test(resource)) return false;
  const { decision, work } = decideCounted(policy, held, { action, resource });
  compared(work);
  return decision.status === 'DENY' && decision.assertion?.conditions === undefined;
}
