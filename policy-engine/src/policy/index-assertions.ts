import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type AssertionGroup, AssertionIndex, chained } from './assertion-group.ts';
import type { Glance } from './glance.ts';
import { PatternIndex } from './pattern-index.ts';
import { type MakeGroup, RoleIndex } from './role-index.ts';
import type { Search } from './search.ts';
import { groupInSteps, sliceLength } from './steps.ts';

/** Up to here a chain is faster than an index (see bench/): of all roles, and of one. */
const longestChain = 6;
const longestChainOfRole = 12;

/** From the action to the assertions for it. */
class ActionIndex extends AssertionIndex {
  readonly #index = new PatternIndex();

  static *build(assertions: readonly CompiledAssertion[], makeGroup: MakeGroup): Steps<ActionIndex> {
    const made = new ActionIndex();
    let count = 0;
    for (const [pattern, group] of yield* groupInSteps(assertions, ({ action }) => action)) {
      made.#index.add(pattern.kind, pattern.text, yield* makeGroup(group));
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return made;
  }

  search(search: Search): void {
    this.#index.search(search.action, search);
  }

  glance(role: string, action: string | undefined): Glance {
    return action === undefined ? undefined : this.#index.glance(action, 0, role, undefined);
  }
}

/** Indexes assertions by the patterns of their resources, each lot for one pattern as `groupOfResource` has it. They are sorted by rank. */
export function* indexPatterns(assertions: readonly CompiledAssertion[]): Steps<PatternIndex | undefined> {
  if (assertions.length === 0) return undefined;
  const index = new PatternIndex();
  for (const [{ kind, text }, group] of yield* groupInSteps(assertions, ({ resource }) => resource)) {
    index.add(kind, text, yield* groupOfResource(group));
    yield;
  }
  return index;
}

/** Assertions for one resource, sorted by rank: behind an index by role or by action, whichever tells more of them apart, if they are many. */
export function* groupOfResource(group: readonly CompiledAssertion[]): Steps<AssertionGroup> {
  if (group.length <= longestChain) return chained(group);
  const actions = new Set(group.map(({ action }) => action));
  const roles = new Set(group.map(({ role }) => role));
  return actions.size > roles.size
    ? yield* ActionIndex.build(group, groupOfAction)
    : yield* RoleIndex.build(group, groupOfRole);
}

function* groupOfAction(group: readonly CompiledAssertion[]): Steps<AssertionGroup> {
  return group.length <= longestChain ? chained(group) : yield* RoleIndex.build(group, groupOfRole);
}

/** Where the action is known as well, only conditions can tell them apart. */
function* groupOfRole(group: readonly CompiledAssertion[]): Steps<AssertionGroup> {
  const isOneAction = group.every(({ action }) => action === group[0]?.action);
  return group.length <= longestChainOfRole || isOneAction
    ? chained(group)
    : yield* ActionIndex.build(group, groupOfRole);
}
