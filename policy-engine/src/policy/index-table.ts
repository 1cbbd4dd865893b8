import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type AssertionGroup, AssertionIndex } from './assertion-group.ts';
import type { AssertionTable } from './assertion-table.ts';
import { ExactNames } from './exact-names.ts';
import { type Glance, isForRole, matchesGiven } from './glance.ts';
import { GlobsOfRoles } from './globs-of-roles.ts';
import { indexPatterns } from './index-assertions.ts';
import type { PatternIndex } from './pattern-index.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Search } from './search.ts';
import { longestRow, SmallPolicy } from './small-policy.ts';

/** By rows of assertions where they are few, by their resources otherwise. `prefix` stands before the names of resources. */
export function* indexTable(table: AssertionTable, prefix: string): Steps<PolicyIndex> {
  if (table.length <= longestRow) return new SmallPolicy(rankPatternRoles(table.all()), prefix);
  const patterns: CompiledAssertion[] = [];
  const globs: CompiledAssertion[] = [];
  for (const assertion of rankPatternRoles(table.others)) {
    const { kind } = assertion.resource;
    if (kind === 'glob') globs.push(assertion);
    else if (kind !== 'exact') patterns.push(assertion);
  }
  return new ResourceIndex({
    names: yield* ExactNames.build(table, prefix.length),
    patterns: yield* indexPatterns(patterns),
    globs: yield* indexPatterns(globs),
    ofRoles: globs.some(({ rolePattern }) => rolePattern !== undefined) ? undefined : yield* GlobsOfRoles.build(globs),
  });
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
  readonly names: ExactNames;
  /** What is not a name. */
  readonly patterns: PatternIndex | undefined;
  readonly globs: PatternIndex | undefined;
  /** The globs once more, unless roles are patterns. */
  readonly ofRoles: GlobsOfRoles | undefined;
}

/** By the name of the resource, and by the patterns that it fits. */
class ResourceIndex extends PolicyIndex {
  readonly #parts: ResourceParts;

  constructor(parts: ResourceParts) {
    super();
    this.#parts = parts;
  }

  glance(role: string, action: string, resource: string): Glance {
    const { names, patterns, globs } = this.#parts;
    if (patterns !== undefined || globs !== undefined) return undefined;
    const group = names.glance(resource);
    return group === undefined || group === 'none' ? group : glanceAtGroup(group, role, action);
  }

  search(search: Search): void {
    const { names, patterns, globs, ofRoles } = this.#parts;
    names.search(search);
    patterns?.search(search.name, search);
    if (globs !== undefined && ofRoles?.search(search) !== true) globs.search(search.name, search);
  }
}

/** Of assertions for the resource that is asked for, in the order in which they can decide. */
function glanceAtGroup(group: AssertionGroup, role: string, action: string): Glance {
  if (group instanceof AssertionIndex) return undefined;
  for (let next: CompiledAssertion | undefined = group; next !== undefined; next = next.next) {
    const isHeld = isForRole(next, role);
    const matches = isHeld && matchesGiven(next.action, action, 0);
    if (matches === undefined) return undefined;
    if (matches) return next;
  }
  return 'none';
}
