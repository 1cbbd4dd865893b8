import type { CompiledAssertion } from './assertion.ts';
import type { Pattern } from './pattern.ts';
import { PatternIndex, type Steps, sliceLength } from './pattern-index.ts';
import { type Query, RuleList, type Rules, type Unchecked } from './rules.ts';

/** Up to here a plain list is faster than an index (see bench/). */
const longestList = 12;

/** Rules found by a pattern over the resource, and under each resource by one over the action. */
class IndexedRules implements Rules {
  readonly rank: number;
  readonly #index: PatternIndex;
  readonly #dimension: 'resource' | 'action';

  constructor(rank: number, index: PatternIndex, dimension: 'resource' | 'action') {
    this.rank = rank;
    this.#index = index;
    this.#dimension = dimension;
  }

  find(query: Query, best: CompiledAssertion | undefined): CompiledAssertion | undefined {
    return this.#index.find(this.#dimension === 'resource' ? query.resource : query.action, query, best);
  }
}

/** The rules of one role, by resource and action. `assertions` is one at least, sorted by rank. */
export function* indexRules(assertions: readonly CompiledAssertion[]): Steps<Rules> {
  if (assertions.length <= longestList) return list(assertions, unindexed);
  return yield* indexBy(assertions, 'resource');
}

function* indexBy(assertions: readonly CompiledAssertion[], dimension: 'resource' | 'action'): Steps<Rules> {
  const entries: [Pattern, Rules][] = [];
  for (const [pattern, group] of yield* groupBy(assertions, dimension)) {
    entries.push([pattern, dimension === 'resource' ? yield* indexActions(group) : list(group, bothKnown)]);
    if (entries.length % sliceLength === 0) yield;
  }
  const index = yield* PatternIndex.build(entries);
  return new IndexedRules(assertions[0]?.rank ?? 0, index, dimension);
}

/** Groups by pattern object: equal patterns of one domain are one object. */
function* groupBy(
  assertions: readonly CompiledAssertion[],
  dimension: 'resource' | 'action',
): Steps<Map<Pattern, CompiledAssertion[]>> {
  const groups = new Map<Pattern, CompiledAssertion[]>();
  let count = 0;
  for (const assertion of assertions) {
    const group = groups.get(assertion[dimension]);
    if (group === undefined) groups.set(assertion[dimension], [assertion]);
    else group.push(assertion);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return groups;
}

/** The rules of one role and one resource, by action. `group` is one at least, sorted by rank. */
export function* indexActions(group: readonly CompiledAssertion[]): Steps<Rules> {
  if (group.length <= longestList) return list(group, resourceKnown);
  return yield* indexBy(group, 'action');
}

/** What is left to compare: with no index on the way, with the resource's, with both. */
const unindexed: Unchecked = { action: true, resource: true };
const resourceKnown: Unchecked = { action: true, resource: false };
const bothKnown: Unchecked = { action: false, resource: false };

function list([first, ...others]: readonly CompiledAssertion[], unchecked: Unchecked): Rules {
  return first === undefined ? nothing : new RuleList(first, others, unchecked);
}

const nothing: Rules = { rank: Number.POSITIVE_INFINITY, find: (_query, best) => best };
