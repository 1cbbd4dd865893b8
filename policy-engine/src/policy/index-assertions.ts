import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type AssertionGroup, AssertionIndex, chained } from './assertion-group.ts';
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
}

/**
 * Indexes assertions by their resource; each lot for one resource by role or by action, whichever tells more of them apart. `assertions`
 * are sorted by rank.
 */
export function* indexByResource(assertions: readonly CompiledAssertion[]): Steps<PatternIndex> {
  const patterned: CompiledAssertion[] = [];
  const index = new PatternIndex(yield* indexExact(assertions, patterned));
  for (const [{ kind, text }, group] of yield* groupInSteps(patterned, ({ resource }) => resource)) {
    index.add(kind, text, yield* groupOfResource(group));
    yield;
  }
  return index;
}

/** By the names of the resources that are no patterns, in one map from the beginning; those that are, come into `patterned`. */
function* indexExact(
  assertions: readonly CompiledAssertion[],
  patterned: CompiledAssertion[],
): Steps<Map<string, AssertionGroup>> {
  const firsts = new Map<string, CompiledAssertion>();
  const several = new Map<string, CompiledAssertion[]>();
  let count = 0;
  for (const assertion of assertions) {
    count += 1;
    if (count % sliceLength === 0) yield;
    if (assertion.resource.kind !== 'exact') {
      patterned.push(assertion);
      continue;
    }
    const name = assertion.resource.text;
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, assertion);
      continue;
    }
    assertion.resource = first.resource;
    const group = several.get(name);
    if (group === undefined) several.set(name, [first, assertion]);
    else group.push(assertion);
  }
  const groups: Map<string, AssertionGroup> = firsts;
  for (const [name, group] of several) {
    groups.set(name, yield* groupOfResource(group));
    yield;
  }
  return groups;
}

function* groupOfResource(group: readonly CompiledAssertion[]): Steps<AssertionGroup> {
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
