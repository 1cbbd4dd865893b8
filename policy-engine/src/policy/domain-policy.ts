import { PolicyEngineError } from '../errors.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { ActionRows } from './action-rows.ts';
import { type CompiledAssertion, type PolicyInput, PrepareContext, prepareAssertion } from './assertion.ts';
import type { Decision, PolicyRevision } from './decision.ts';
import { indexByResource } from './index-assertions.ts';
import type { PatternIndex } from './pattern-index.ts';
import type { Status } from './status.ts';
import { sliceLength } from './steps.ts';

/** The compiled policies of one domain: immutable, made by `compileDomain`. */
export interface DomainPolicy {
  readonly domain: string;
  /** The domain as it stands before a resource: with its colon. */
  readonly prefix: string;
  /** Whether resources are compared with their domain, as written. */
  readonly qualified: boolean;
  readonly revision: PolicyRevision | undefined;
  /** What an author should know: assertions that can never match, or whose conditions cannot be evaluated. One sentence each. */
  readonly problems: readonly string[];
  /** All assertions, also those that can never match. */
  readonly assertionCount: number;
  /** Those that can match, in the order of the policies. */
  readonly assertions: readonly CompiledAssertion[];
  /** The actions that they name; in a small policy all that can match. */
  readonly rows: ActionRows;
  /** Those that can match, by their resource; empty where the rows hold all of them. */
  readonly byResource: PatternIndex;
  /** The answer when nothing matches: DENY_NO_MATCH, or DENY_DOMAIN_EMPTY. */
  readonly fallback: Decision;
  /** The answer when the search takes too much work. */
  readonly exceeded: Decision;
  /** How often it was given, for whoever watches. */
  readonly overruns: { count: number };
  /** The work of all decisions so far, in units of `maxWork`: the difference around a decision is what that one has cost. */
  readonly work: { spent: number };
}

/** How the policies of a domain are compiled. */
export interface CompileOptions {
  /** Compare whole resource names, also of other domains, instead of cutting the domain off. Default false. */
  qualified?: boolean;
  /** The revision that decisions report. */
  revision?: PolicyRevision;
  /** The count of an earlier policy of the domain, which goes on. Default: a new one. */
  overruns?: DomainPolicy['overruns'];
}

/**
 * Compiles the active policies of one domain into an immutable index.
 * Throws `PolicyEngineError('bundle-malformed')` for an effect other than ALLOW and DENY, for an ALLOW whose conditions do not have the
 * shape of conditions, and for names that are not strings. Under a condition that is not known an ALLOW never counts, a DENY always.
 */
export function compileDomain(
  domain: string,
  policies: readonly PolicyInput[],
  options: CompileOptions = {},
): DomainPolicy {
  return runAtOnce(compileInSteps(domain, policies, options));
}

/** `compileDomain` in slices, for large policies: call `next()` until it is done, and let others run in between. */
export function* compileInSteps(
  domain: string,
  policies: readonly PolicyInput[],
  options: CompileOptions = {},
): Steps<DomainPolicy> {
  const qualified = options.qualified ?? false;
  const { assertions, assertionCount, problems } = yield* prepareAll(policies, new PrepareContext(domain, qualified));
  const ranked = rankPatternRoles(assertions);
  const rows = yield* ActionRows.build(ranked);
  const revision = options.revision && Object.freeze({ ...options.revision });
  const answer = (status: Status): Decision =>
    Object.freeze({ status, domain, ...(revision !== undefined && { revision }) });
  return Object.freeze({
    domain,
    prefix: `${domain}:`,
    qualified,
    revision,
    problems,
    assertionCount,
    assertions,
    rows,
    byResource: yield* indexByResource(rows.isSmall ? [] : ranked),
    fallback: answer(assertionCount === 0 ? 'DENY_DOMAIN_EMPTY' : 'DENY_NO_MATCH'),
    exceeded: answer('DENY_BUDGET_EXCEEDED'),
    overruns: options.overruns ?? { count: 0 },
    work: { spent: 0 },
  });
}

function* prepareAll(
  policies: readonly PolicyInput[],
  context: PrepareContext,
): Steps<{ assertions: CompiledAssertion[]; assertionCount: number; problems: string[] }> {
  const assertions: CompiledAssertion[] = [];
  const problems: string[] = [];
  let assertionCount = 0;
  if (!Array.isArray(policies)) throw malformed('policies must be an array');
  for (const policy of policies) {
    checkShape(policy);
    for (const input of policy.assertions) {
      const prepared = prepareAssertion(input, policy.name, assertions.length, context);
      if (prepared.kind === 'ready') assertions.push(prepared.assertion);
      if (prepared.problem !== undefined) problems.push(prepared.problem);
      assertionCount += 1;
      if (assertionCount % sliceLength === 0) yield;
    }
  }
  return { assertions, assertionCount, problems };
}

/** For callers without types. */
function checkShape(policy: PolicyInput): void {
  if (typeof policy?.name !== 'string') throw malformed('a policy has no name');
  const { name, assertions } = policy;
  if (!Array.isArray(assertions)) throw malformed(`policy \`${name}\` has no list of assertions`);
  if (assertions.some((input) => typeof input !== 'object' || input === null)) {
    throw malformed(`policy \`${name}\` holds what is not an assertion`);
  }
}

function malformed(problem: string): PolicyEngineError {
  return new PolicyEngineError('bundle-malformed', problem);
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
