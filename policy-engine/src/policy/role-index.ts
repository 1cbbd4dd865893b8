import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type AssertionGroup, AssertionIndex, glanceAtGroup, searchGroup } from './assertion-group.ts';
import type { Glance } from './glance.ts';
import { PatternIndex } from './pattern-index.ts';
import type { Search } from './search.ts';
import { groupInSteps, sliceLength } from './steps.ts';

/** Makes the group of one role and one effect; the assertions are one at least, sorted by rank. */
export type MakeGroup = (assertions: readonly CompiledAssertion[]) => Steps<AssertionGroup>;

interface RoleGroups {
  readonly deny: AssertionGroup | undefined;
  readonly allow: AssertionGroup | undefined;
}

/** From the roles of a caller to their assertions: roles that are names in a map, roles that are patterns in an index. */
export class RoleIndex extends AssertionIndex {
  readonly #plain: ReadonlyMap<string, RoleGroups>;
  /** Of DENY and of ALLOW. */
  readonly #patterns: readonly [PatternIndex | undefined, PatternIndex | undefined];

  private constructor(
    plain: ReadonlyMap<string, RoleGroups>,
    patterns: readonly [PatternIndex | undefined, PatternIndex | undefined],
  ) {
    super();
    this.#plain = plain;
    this.#patterns = patterns;
  }

  /** Builds the index of assertions that are sorted by rank. */
  static *build(assertions: readonly CompiledAssertion[], makeGroup: MakeGroup): Steps<RoleIndex> {
    const plain = new Map<string, RoleGroups>();
    const [denyPlain = [], denyPatterns = [], allowPlain = [], allowPatterns = []] = byPrecedence(assertions);
    for (const [role, group] of yield* groupInSteps(denyPlain, ({ role: name }) => name)) {
      plain.set(role, { deny: yield* makeGroup(group), allow: undefined });
    }
    let count = 0;
    for (const [role, group] of yield* groupInSteps(allowPlain, ({ role: name }) => name)) {
      plain.set(role, { deny: plain.get(role)?.deny, allow: yield* makeGroup(group) });
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    const deny = yield* indexPatterns(denyPatterns, makeGroup);
    return new RoleIndex(plain, [deny, yield* indexPatterns(allowPatterns, makeGroup)]);
  }

  search(search: Search): void {
    if (this.#plain.size > 0) this.#searchPlain(search);
    const [deny, allow] = this.#patterns;
    if (deny !== undefined) searchPatterns(deny, 1, search);
    if (allow !== undefined) searchPatterns(allow, 3, search);
    search.place = -1;
  }

  glance(role: string, action: string | undefined): Glance {
    const [deny, allow] = this.#patterns;
    if (deny !== undefined || allow !== undefined) return undefined;
    const groups = this.#plain.get(role);
    if (groups === undefined) return null;
    const denied = groups.deny === undefined ? null : glanceAtGroup(groups.deny, role, action);
    return denied !== null || groups.allow === undefined ? denied : glanceAtGroup(groups.allow, role, action);
  }

  #searchPlain(search: Search): void {
    const { roles } = search;
    search.spend(roles.length);
    for (let at = 0; at < roles.length; at += 1) {
      const groups = this.#plain.get(roles[at] ?? '');
      if (groups === undefined) continue;
      search.place = at;
      if (groups.deny !== undefined && search.isOpen(0, at)) searchGroup(groups.deny, search);
      if (groups.allow !== undefined && search.isOpen(2, at)) searchGroup(groups.allow, search);
    }
  }
}

function byPrecedence(assertions: readonly CompiledAssertion[]): CompiledAssertion[][] {
  const lists: CompiledAssertion[][] = [[], [], [], []];
  for (const assertion of assertions) lists[assertion.precedence]?.push(assertion);
  return lists;
}

function searchPatterns(index: PatternIndex, precedence: number, search: Search): void {
  const { roles } = search;
  for (let at = 0; at < roles.length && search.isOpen(precedence, at); at += 1) {
    search.place = at;
    search.spend(1);
    index.search(roles[at] ?? '', search);
  }
}

function* indexPatterns(
  assertions: readonly CompiledAssertion[],
  makeGroup: MakeGroup,
): Steps<PatternIndex | undefined> {
  if (assertions.length === 0) return undefined;
  const index = new PatternIndex();
  let count = 0;
  for (const [pattern, group] of yield* groupInSteps(assertions, ({ rolePattern }) => rolePattern)) {
    if (pattern !== undefined) index.add(pattern.kind, pattern.text, yield* makeGroup(group));
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return index;
}
