import { PolicyEngineError } from '../errors.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { type CompiledAssertion, type PolicyInput, PrepareContext } from './assertion.ts';
import { AssertionTable } from './assertion-table.ts';
import type { Decision, PolicyRevision } from './decision.ts';
import { indexTable } from './index-table.ts';
import type { PolicyIndex } from './policy-index.ts';
import type { Status } from './status.ts';
import { sliceLength } from './steps.ts';

/** The compiled policies of one domain: immutable, made by `compileDomain`. */
export interface DomainPolicy {
  readonly domain: string;
  /** What stands before the name of a resource: the domain with its colon, or nothing where resources are compared with it. */
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
  /** Those that can match, found by what is searched for. */
  readonly index: PolicyIndex;
  /** The answer when nothing matches: DENY_NO_MATCH, or DENY_DOMAIN_EMPTY. */
  readonly fallback: Decision;
  /** The answer when the search takes too much work. */
  readonly exceeded: Decision;
  /** How often it was given, for whoever watches. */
  readonly overruns: { count: number };
  /**
   * The work of all searches so far, in units of `maxWork`: the difference around a decision is what that one has cost. One that was answered without a
   * search adds nothing: `longestLook` and `longestText` bound what it takes.
   */
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
  const context = new PrepareContext(domain, qualified);
  const { table, assertionCount, problems } = yield* prepareAll(policies, context);
  const revision = options.revision && Object.freeze({ ...options.revision });
  const answer = (status: Status): Decision =>
    Object.freeze({ status, domain, ...(revision !== undefined && { revision }) });
  const compiled = Object.assign(new OfTable(table), {
    domain,
    prefix: context.prefix,
    qualified,
    revision,
    problems,
    assertionCount,
    index: yield* indexTable(table, context),
    fallback: answer(assertionCount === 0 ? 'DENY_DOMAIN_EMPTY' : 'DENY_NO_MATCH'),
    exceeded: answer('DENY_BUDGET_EXCEEDED'),
    overruns: options.overruns ?? { count: 0 },
    work: { spent: 0 },
  });
  return Object.freeze(compiled);
}

/** A class, as the runtime makes a hash table of an object that is frozen and has a getter of its own: each of its members is then looked up. */
class OfTable {
  readonly #table: AssertionTable;

  constructor(table: AssertionTable) {
    this.#table = table;
  }

  get assertions(): readonly CompiledAssertion[] {
    return this.#table.all();
  }
}

function* prepareAll(
  policies: readonly PolicyInput[],
  context: PrepareContext,
): Steps<{ table: AssertionTable; assertionCount: number; problems: string[] }> {
  const table = new AssertionTable(context);
  const problems: string[] = [];
  let assertionCount = 0;
  if (!Array.isArray(policies)) throw malformed('policies must be an array');
  for (const policy of policies) {
    checkShape(policy);
    if (policy.active !== false) assertionCount += yield* addPolicy(table, policy, problems);
    yield;
  }
  context.forgetPatterns();
  return { table, assertionCount, problems };
}

/** Adds the assertions of a policy, and what is to be said of them. Answers how many there are. */
function* addPolicy(table: AssertionTable, { name, assertions }: PolicyInput, problems: string[]): Steps<number> {
  let count = 0;
  for (const [index, input] of assertions.entries()) {
    if (index % sliceLength === sliceLength - 1) yield;
    const problem = table.add(input, name);
    if (problem !== undefined) problems.push(problem);
    count += 1;
  }
  return count;
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
