import type { CompiledAssertion } from './assertion.ts';
import type { Pattern } from './pattern.ts';
import { PatternIndex, type Steps, sliceLength } from './pattern-index.ts';
import type { Rules } from './rules.ts';
import type { Search } from './search.ts';

/** Builds the rules of one role and one effect; the list is one at least, sorted by rank. */
export type BuildRules = (assertions: readonly CompiledAssertion[]) => Steps<Rules>;

interface RoleRules {
  readonly deny: Rules | undefined;
  readonly allow: Rules | undefined;
}

interface RoleGroups {
  readonly plain: Map<string, CompiledAssertion[]>;
  readonly patterns: Map<Pattern, CompiledAssertion[]>;
}

/** From the roles of a caller to their rules: roles that are names in a map, roles that are patterns in an index. */
export class RoleIndex {
  readonly #plain: ReadonlyMap<string, RoleRules>;
  readonly #denyPatterns: PatternIndex | undefined;
  readonly #allowPatterns: PatternIndex | undefined;

  private constructor(
    plain: ReadonlyMap<string, RoleRules>,
    denyPatterns: PatternIndex | undefined,
    allowPatterns: PatternIndex | undefined,
  ) {
    this.#plain = plain;
    this.#denyPatterns = denyPatterns;
    this.#allowPatterns = allowPatterns;
  }

  /** Builds the index of assertions that are sorted by rank. */
  static *build(assertions: readonly CompiledAssertion[], buildRules: BuildRules): Steps<RoleIndex> {
    const plain = new Map<string, RoleRules>();
    const deny = yield* group(assertions.filter(({ effect }) => effect === 'DENY'));
    for (const [role, rules] of deny.plain) plain.set(role, { deny: yield* buildRules(rules), allow: undefined });
    yield;
    const allow = yield* group(assertions.filter(({ effect }) => effect === 'ALLOW'));
    let count = 0;
    for (const [role, rules] of allow.plain) {
      plain.set(role, { deny: plain.get(role)?.deny, allow: yield* buildRules(rules) });
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    const denyPatterns = yield* indexPatterns(deny.patterns, buildRules);
    return new RoleIndex(plain, denyPatterns, yield* indexPatterns(allow.patterns, buildRules));
  }

  /** Offers what matches for the roles of the search; nothing that cannot take the place of what was found. */
  search(search: Search): void {
    if (this.#plain.size > 0) this.#searchPlain(search);
    if (this.#denyPatterns !== undefined && search.isOpen(1)) searchPatterns(this.#denyPatterns, search);
    if (this.#allowPatterns !== undefined && search.isOpen(3)) searchPatterns(this.#allowPatterns, search);
  }

  #searchPlain(search: Search): void {
    const { roles, query } = search;
    let wantsAllow = search.isOpen(2);
    for (let at = 0; at < roles.length; at += 1) {
      const rules = this.#plain.get(roles[at] ?? '');
      if (rules === undefined) continue;
      const denied = rules.deny?.find(query, undefined);
      if (denied !== undefined) {
        search.offer(denied, at);
        return;
      }
      const allowed = wantsAllow ? rules.allow?.find(query, undefined) : undefined;
      if (allowed === undefined) continue;
      search.offer(allowed, at);
      wantsAllow = false;
    }
  }
}

function searchPatterns(index: PatternIndex, search: Search): void {
  const { roles, query } = search;
  for (let at = 0; at < roles.length; at += 1) {
    const found = index.find(roles[at] ?? '', query, undefined);
    if (found !== undefined) {
      search.offer(found, at);
      return;
    }
  }
}

function* group(assertions: readonly CompiledAssertion[]): Steps<RoleGroups> {
  const groups: RoleGroups = { plain: new Map(), patterns: new Map() };
  let count = 0;
  for (const assertion of assertions) {
    if (assertion.rolePattern === undefined) append(groups.plain, assertion.role, assertion);
    else append(groups.patterns, assertion.rolePattern, assertion);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return groups;
}

function append<K>(groups: Map<K, CompiledAssertion[]>, key: K, assertion: CompiledAssertion): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [assertion]);
  else group.push(assertion);
}

function* indexPatterns(
  groups: ReadonlyMap<Pattern, CompiledAssertion[]>,
  buildRules: BuildRules,
): Steps<PatternIndex | undefined> {
  if (groups.size === 0) return undefined;
  const entries: [Pattern, Rules][] = [];
  for (const [pattern, group] of groups) {
    entries.push([pattern, yield* buildRules(group)]);
    if (entries.length % sliceLength === 0) yield;
  }
  return yield* PatternIndex.build(entries);
}
