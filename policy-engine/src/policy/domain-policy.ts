import { PolicyEngineError } from '../errors.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { AssertionCompiler, type CompiledAssertion, type PolicyInput } from './assertion.ts';
import type { Decision, PolicyRevision } from './decision.ts';
import { sliceLength } from './group-in-steps.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Status } from './status.ts';

/** The compiled policies of one domain: immutable, made by `compileDomain`. */
export interface DomainPolicy {
  readonly domain: string;
  /** Prefix of a full resource name: the domain with its colon, or empty where resources of other domains are compared too. */
  readonly prefix: string;
  /** True if resources are compared with their domain, as written. */
  readonly qualified: boolean;
  readonly revision: PolicyRevision | undefined;
  /** Warnings for the author: assertions that can never match, or whose conditions cannot be evaluated. One sentence each. */
  readonly problems: readonly string[];
  /** Number of all assertions, also those that can never match. */
  readonly assertionCount: number;
  /** Assertions that can match, in the order of the policies. */
  readonly assertions: readonly CompiledAssertion[];
  /** Index of the assertions that can match. */
  readonly index: PolicyIndex;
  /** The answer when nothing matches: DENY_NO_MATCH, or DENY_DOMAIN_EMPTY. */
  readonly fallback: Decision;
  /** The answer when the search takes too much work. */
  readonly exceeded: Decision;
  /** Number of times that it was given, for monitoring. */
  readonly overruns: { count: number };
  /** Work of all searches so far, in units of `maxWork`: the difference around a decision is what that one has cost. */
  readonly work: { spent: number };
}

/** Options for compiling the policies of a domain. */
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
  const compiler = new AssertionCompiler(domain, qualified);
  const assertionCount = yield* addAll(policies, compiler);
  const { assertions, problems } = compiler;
  const revision = options.revision && Object.freeze({ ...options.revision });
  const answer = (status: Status): Decision =>
    Object.freeze({ status, domain, ...(revision !== undefined && { revision }) });
  return Object.freeze({
    domain,
    prefix: compiler.prefix,
    qualified,
    revision,
    problems,
    assertionCount,
    assertions,
    index: yield* PolicyIndex.build(assertions),
    fallback: answer(assertionCount === 0 ? 'DENY_DOMAIN_EMPTY' : 'DENY_NO_MATCH'),
    exceeded: answer('DENY_BUDGET_EXCEEDED'),
    overruns: options.overruns ?? { count: 0 },
    work: { spent: 0 },
  });
}

function* addAll(policies: readonly PolicyInput[], compiler: AssertionCompiler): Steps<number> {
  let count = 0;
  if (!Array.isArray(policies)) throw malformed('policies must be an array');
  for (const policy of policies) {
    checkShape(policy);
    if (policy.active === false) continue;
    for (const input of policy.assertions) {
      compiler.add(input, policy.name);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    yield;
  }
  return count;
}

/** Shape check for callers without types. */
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
