import type { Steps } from '../steps/steps.ts';
import type { Effect } from '../wire/index.ts';
import type { CompiledAssertion } from './assertion.ts';
import { groupInSteps, sliceLength } from './group-in-steps.ts';
import type { Pattern } from './pattern.ts';
import { type PatternEntry, PatternIndex, type Ranked } from './pattern-index.ts';
import type { Search } from './search.ts';

/** Maximum number of assertions that are compared one by one: a look-up would take about as long. */
const maxChain = 8;

type MakeGroup<T> = (assertions: readonly CompiledAssertion[]) => T | Steps<T>;

/** Groups of assertions by an exact text or by a pattern. */
class TextIndex<T extends Ranked> implements Ranked {
  readonly rank: number;
  readonly exact: ReadonlyMap<string, T>;
  readonly patterns: PatternIndex<T> | undefined;

  private constructor(rank: number, exact: ReadonlyMap<string, T>, patterns: PatternIndex<T> | undefined) {
    this.rank = rank;
    this.exact = exact;
    this.patterns = patterns;
  }

  /** Builds the index of assertions that are sorted by rank. */
  static *build<T extends Ranked>(
    assertions: readonly CompiledAssertion[],
    keyOf: (assertion: CompiledAssertion) => string | Pattern,
    makeGroup: MakeGroup<T>,
  ): Steps<TextIndex<T>> {
    const exact = new Map<string, T>();
    const patterns: PatternEntry<T>[] = [];
    const keys = (assertion: CompiledAssertion) => textKey(keyOf(assertion));
    let count = 0;
    for (const [text, group] of yield* groupInSteps(assertions, keys)) {
      const made = makeGroup(group);
      const value = isSteps(made) ? yield* made : made;
      const key = keyOf(group[0] as CompiledAssertion);
      if (typeof key === 'object') patterns.push({ pattern: key, value });
      else exact.set(text, value);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return new TextIndex(assertions[0]?.rank ?? 0, exact, yield* PatternIndex.build(patterns));
  }
}

/** The same text for equal keys: no exact text has a wildcard. */
function textKey(key: string | Pattern): string {
  if (typeof key === 'string') return key;
  return key.kind === 'glob' ? key.text : `${key.text}*`;
}

function isSteps<T>(made: T | Steps<T>): made is Steps<T> {
  return typeof made === 'object' && made !== null && Symbol.iterator in made;
}

/** Assertions of one role and one resource: a chain in the order of their ranks, or many by their actions. */
type OfResource = CompiledAssertion | TextIndex<CompiledAssertion>;
/** Assertions of one role: a chain, or many by their resources. */
type OfRole = CompiledAssertion | TextIndex<OfResource>;

/** Links assertions, sorted by rank, and returns the first. There must be one. */
function chain(assertions: readonly CompiledAssertion[]): CompiledAssertion {
  for (let at = 1; at < assertions.length; at += 1) (assertions[at - 1] as CompiledAssertion).next = assertions[at];
  return assertions[0] as CompiledAssertion;
}

function groupOfResource(assertions: readonly CompiledAssertion[]): OfResource | Steps<OfResource> {
  return assertions.length <= maxChain ? chain(assertions) : TextIndex.build(assertions, actionOf, chain);
}

function groupOfRole(assertions: readonly CompiledAssertion[]): OfRole | Steps<OfRole> {
  return assertions.length <= maxChain ? chain(assertions) : TextIndex.build(assertions, targetOf, groupOfResource);
}

const roleOf = ({ role }: CompiledAssertion): string | Pattern => role.pattern ?? role.name;
const targetOf = ({ target }: CompiledAssertion): string | Pattern => target;
const actionOf = ({ action }: CompiledAssertion): string | Pattern =>
  action.pattern.kind === 'exact' ? action.pattern.text : action.pattern;

function searchAction(first: CompiledAssertion, search: Search): void {
  search.takeFirst(first, false);
}

function searchResource(group: OfResource, search: Search): void {
  if (!(group instanceof TextIndex)) {
    search.takeFirst(group, false);
    return;
  }
  const first = group.exact.get(search.action);
  if (first !== undefined) search.takeFirst(first, false);
  group.patterns?.visit(search.action, search, searchAction);
}

function searchRole(group: OfRole, search: Search): void {
  if (!(group instanceof TextIndex)) {
    search.takeFirst(group, true);
    return;
  }
  const named = group.exact.get(search.resource);
  if (named !== undefined) searchResource(named, search);
  group.patterns?.visit(search.name, search, searchResource);
}

/** The assertions of a policy by effect, role, resource and action. */
export class PolicyIndex {
  readonly #deny: TextIndex<OfRole>;
  readonly #allow: TextIndex<OfRole>;

  private constructor(deny: TextIndex<OfRole>, allow: TextIndex<OfRole>) {
    this.#deny = deny;
    this.#allow = allow;
  }

  /** Builds the index of assertions that are sorted by rank. Those of pattern roles get new ranks. */
  static *build(assertions: readonly CompiledAssertion[]): Steps<PolicyIndex> {
    return new PolicyIndex(yield* buildRoles(assertions, 'DENY'), yield* buildRoles(assertions, 'ALLOW'));
  }

  /**
   * Finds the assertion that decides: every DENY is searched before any ALLOW, plain roles before pattern roles, the roles in the order given;
   * of one role the match with the lowest rank.
   */
  search(search: Search): CompiledAssertion | undefined {
    return searchRoles(this.#deny, search) ?? searchRoles(this.#allow, search);
  }
}

function searchRoles({ exact, patterns }: TextIndex<OfRole>, search: Search): CompiledAssertion | undefined {
  const { roles } = search;
  if (exact.size > 0) {
    search.spend(roles.length);
    for (const role of roles) {
      const group = exact.get(role);
      if (group !== undefined) searchRole(group, search);
      if (search.best !== undefined) return search.best;
    }
  }
  if (patterns !== undefined) {
    for (const role of roles) {
      patterns.visit(role, search, searchRole);
      if (search.best !== undefined) return search.best;
    }
  }
  return undefined;
}

function* buildRoles(assertions: readonly CompiledAssertion[], effect: Effect): Steps<TextIndex<OfRole>> {
  const ofEffect = assertions.filter((assertion) => assertion.effect === effect);
  yield* rankPatternRoles(ofEffect);
  return yield* TextIndex.build(ofEffect, roleOf, groupOfRole);
}

/** Pattern roles are searched in the order of their texts, and the assertions of one in the order of the policies. */
function* rankPatternRoles(assertions: readonly CompiledAssertion[]): Steps<void> {
  const patterned = assertions.filter(({ role }) => role.pattern !== undefined);
  const groups = [...(yield* groupInSteps(patterned, ({ role }) => role.name))];
  let rank = 0;
  for (const [, group] of groups.sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const assertion of group) {
      assertion.rank = rank;
      rank += 1;
    }
    yield;
  }
}
