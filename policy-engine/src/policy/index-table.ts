import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion, PrepareContext } from './assertion.ts';
import { glanceAtGroup } from './assertion-group.ts';
import type { AssertionTable } from './assertion-table.ts';
import { beginsWith } from './begins-with.ts';
import { ExactNames } from './exact-names.ts';
import { earlier, type Glance } from './glance.ts';
import { indexPatterns } from './index-assertions.ts';
import type { NamedActions } from './named-actions.ts';
import type { PatternIndex } from './pattern-index.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Search } from './search.ts';
import { longestRow, SmallPolicy } from './small-policy.ts';

/** By rows of assertions where they are few, by their resources otherwise. */
export function* indexTable(table: AssertionTable, { prefix, namedActions }: PrepareContext): Steps<PolicyIndex> {
  if (table.length <= longestRow) return new SmallPolicy(rankPatternRoles(table.all()), prefix);
  const patterns = rankPatternRoles(table.others).filter(({ resource }) => resource.kind !== 'exact');
  const index = new ResourceIndex({
    names: yield* ExactNames.build(table, prefix.length),
    patterns: yield* indexPatterns(patterns),
    prefix,
  });
  // Names alone are told by their bits in little less time than it takes to look for the resource.
  return namedActions.hasPrefixes ? new OfNamedActions(namedActions, index, prefix) : index;
}

/** Pattern roles are searched in the order of their texts, so their assertions get new ranks. Returns all sorted by rank. */
function rankPatternRoles(assertions: readonly CompiledAssertion[]): readonly CompiledAssertion[] {
  const plain = assertions.filter(({ rolePattern }) => rolePattern === undefined);
  if (plain.length === assertions.length) return assertions;
  const groups = Map.groupBy(
    assertions.filter(({ rolePattern }) => rolePattern !== undefined),
    ({ role }) => role,
  );
  const patterned = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, group]) => group);
  for (const [rank, assertion] of patterned.entries()) assertion.rank = rank;
  return [...plain, ...patterned];
}

interface ResourceParts {
  /** What stands before the name of a resource. */
  readonly prefix: string;
  readonly names: ExactNames;
  /** What is not a name. */
  readonly patterns: PatternIndex | undefined;
}

/** By the name of the resource, and by the patterns that it fits. */
class ResourceIndex extends PolicyIndex {
  readonly #parts: ResourceParts;

  constructor(parts: ResourceParts) {
    super();
    this.#parts = parts;
  }

  glance(role: string, action: string, resource: string): Glance {
    const { names, patterns, prefix } = this.#parts;
    if (!beginsWith(resource, prefix)) return undefined;
    const seen = patterns === undefined ? null : patterns.glance(resource, prefix.length, role, action);
    if (seen === undefined) return undefined;
    const group = names.glance(resource);
    return group === null ? seen : earlier(seen, group && glanceAtGroup(group, role, action));
  }

  search(search: Search): void {
    const { names, patterns } = this.#parts;
    names.search(search);
    patterns?.search(search.name, search);
  }
}

/** Behind a look at the action: one that no assertion is for needs no other. */
class OfNamedActions extends PolicyIndex {
  readonly #actions: NamedActions;
  readonly #index: ResourceIndex;
  readonly #prefix: string;

  constructor(actions: NamedActions, index: ResourceIndex, prefix: string) {
    super();
    this.#actions = actions;
    this.#index = index;
    this.#prefix = prefix;
  }

  glance(role: string, action: string, resource: string): Glance {
    if (this.#actions.mayHave(action)) return this.#index.glance(role, action, resource);
    return beginsWith(resource, this.#prefix) ? null : undefined;
  }

  search(search: Search): void {
    if (this.#actions.mayHave(search.givenAction)) this.#index.search(search);
  }
}
