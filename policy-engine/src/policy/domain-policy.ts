import { PolicyEngineError } from '../errors.ts';
import { type CompiledAssertion, type PolicyInput, type PrepareOptions, prepareAssertion } from './assertion.ts';
import type { Decision, PolicyRevision } from './decision.ts';
import { compilePattern, isPattern, type Pattern } from './pattern.ts';
import { PatternIndex, type Steps, sliceLength } from './pattern-index.ts';
import { indexRules } from './rule-index.ts';
import type { Rules } from './rules.ts';

/** The rules of one effect: roles that are names in a map, roles that are patterns in an index. */
export interface EffectIndex {
  readonly byRole: ReadonlyMap<string, Rules>;
  readonly byRolePattern: PatternIndex | undefined;
}

/** The compiled policies of one domain: immutable, made by `compileDomain`. */
export interface DomainPolicy {
  readonly domain: string;
  /** Whether resources are compared with their domain, as written. */
  readonly qualified: boolean;
  readonly revision: PolicyRevision | undefined;
  /** What an author should know: assertions that can never match. One sentence each. */
  readonly problems: readonly string[];
  /** All assertions, also those that can never match. */
  readonly assertionCount: number;
  /** Those that can match, in the order of the policies. */
  readonly assertions: readonly CompiledAssertion[];
  readonly deny: EffectIndex;
  readonly allow: EffectIndex;
  /** The answer when nothing matches: DENY_NO_MATCH, or DENY_DOMAIN_EMPTY. */
  readonly fallback: Decision;
}

export interface CompileOptions {
  /** Compare whole resource names, also of other domains, instead of cutting the domain off. Default false. */
  qualified?: boolean;
  /** The revision that decisions report. */
  revision?: PolicyRevision;
}

/**
 * Compiles the active policies of one domain into an immutable index.
 * Throws `PolicyEngineError('bundle-malformed')` for an effect other than ALLOW and DENY, for an ALLOW with an unknown
 * condition, and for names that are no texts.
 */
export function compileDomain(
  domain: string,
  policies: readonly PolicyInput[],
  options: CompileOptions = {},
): DomainPolicy {
  const steps = compileInSteps(domain, policies, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** `compileDomain` in slices, for large policies: call `next()` until it is done, and let others run in between. */
export function* compileInSteps(
  domain: string,
  policies: readonly PolicyInput[],
  options: CompileOptions = {},
): Steps<DomainPolicy> {
  const { assertions, problems } = yield* prepareAll(policies, {
    domain,
    qualified: options.qualified ?? false,
    patterns: new Map(),
  });
  const assertionCount = assertions.length + problems.length;
  const revision = options.revision && Object.freeze({ ...options.revision });
  return Object.freeze({
    domain,
    qualified: options.qualified ?? false,
    revision,
    problems,
    assertionCount,
    assertions,
    deny: yield* indexEffect(assertions.filter(({ effect }) => effect === 'DENY')),
    allow: yield* indexEffect(assertions.filter(({ effect }) => effect === 'ALLOW')),
    fallback: Object.freeze({
      status: assertionCount === 0 ? 'DENY_DOMAIN_EMPTY' : 'DENY_NO_MATCH',
      domain,
      ...(revision !== undefined && { revision }),
    }),
  });
}

function* prepareAll(
  policies: readonly PolicyInput[],
  options: PrepareOptions,
): Steps<{ assertions: CompiledAssertion[]; problems: string[] }> {
  const assertions: CompiledAssertion[] = [];
  const problems: string[] = [];
  for (const policy of policies) {
    if (typeof policy.name !== 'string') throw new PolicyEngineError('bundle-malformed', 'a policy has no name');
    for (const input of policy.assertions) {
      const prepared = prepareAssertion(input, policy.name, assertions.length, options);
      if (prepared.kind === 'ready') assertions.push(prepared.assertion);
      else problems.push(prepared.problem);
      if ((assertions.length + problems.length) % sliceLength === 0) yield;
    }
  }
  return { assertions, problems };
}

function* indexEffect(assertions: readonly CompiledAssertion[]): Steps<EffectIndex> {
  const groups = new Map<string, CompiledAssertion[]>();
  for (const assertion of assertions) {
    const group = groups.get(assertion.role);
    if (group === undefined) groups.set(assertion.role, [assertion]);
    else group.push(assertion);
  }
  const byRole = new Map<string, Rules>();
  const patterns: [string, CompiledAssertion[]][] = [];
  for (const [role, group] of groups) {
    if (isPattern(role)) patterns.push([role, group]);
    else byRole.set(role, yield* indexRules(group));
    if (byRole.size % sliceLength === 0) yield;
  }
  return { byRole, byRolePattern: yield* indexRolePatterns(patterns) };
}

/** Pattern roles are searched in the order of their texts, so the ranks of their assertions are given anew. */
function* indexRolePatterns(groups: [string, CompiledAssertion[]][]): Steps<PatternIndex | undefined> {
  if (groups.length === 0) return undefined;
  groups.sort(([a], [b]) => (a < b ? -1 : 1));
  const entries: [Pattern, Rules][] = [];
  let rank = 0;
  for (const [role, group] of groups) {
    for (const assertion of group) assertion.rank = rank++;
    entries.push([compilePattern(role), yield* indexRules(group)]);
  }
  return yield* PatternIndex.build(entries);
}
