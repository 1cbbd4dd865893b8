import { PolicyEngineError } from '../errors.ts';
import { describeAssertion } from '../policy/assertion.ts';
import type { DecidingAssertion, Decision, DecisionContext, DomainPolicy, Status } from '../policy/index.ts';
import { type CheckedCase, decodeCase } from './decode-case.ts';

/** Part of the engine that the runner uses. */
export interface CaseEngine {
  decideRoles(request: {
    domain: string;
    roles: readonly string[];
    action: string;
    resource: string;
    context?: DecisionContext;
  }): Decision;
  policyOf(domain: string): DomainPolicy | undefined;
}

/** Defaults that `runCases` uses for omitted members of a case. */
export interface RunCasesOptions {
  /** The domain of cases that name none; of `catalog.cases.yaml` it is `catalog`. */
  domain?: string;
  /**
   * The roles that a principal holds in a domain; `at` is the time of the case in milliseconds, when it names one. Without
   * this, cases with a `principal` are skipped: bundles hold no memberships.
   */
  rolesOf?: (principal: string, domain: string, at: number | undefined) => readonly string[];
}

/** A case whose answer is not the expected one. */
export interface CaseFailure {
  /** Place in the list, from 0. */
  readonly index: number;
  readonly note: string | undefined;
  readonly expected: string;
  readonly decided: Status;
  /** The whole story in a line. */
  readonly message: string;
}

/** Assertion of a policy, as the coverage lists it. */
export interface CoveredAssertion {
  readonly domain: string;
  readonly policy: string;
  readonly assertion: DecidingAssertion;
}

/** Result of `runCases`. */
export interface CaseReport {
  readonly passed: number;
  readonly failures: readonly CaseFailure[];
  /** Places of the cases that name a principal when there is no `rolesOf`. */
  readonly skipped: readonly number[];
  /** Coverage: the assertions of the tested domains that decided a case. `share` is from 0 to 1; 1 when there are none. */
  readonly coverage: {
    readonly total: number;
    readonly decided: number;
    readonly share: number;
    readonly missed: readonly CoveredAssertion[];
  };
}

/**
 * Runs every case of a parsed `*.cases.yaml` against an engine. Fails no test by itself: assert on the report. Throws
 * `PolicyEngineError('invalid-options')` for what is not an array and for an entry that is not a case.
 */
export function runCases(engine: CaseEngine, cases: unknown, options: RunCasesOptions = {}): CaseReport {
  if (!Array.isArray(cases)) throw new PolicyEngineError('invalid-options', '`cases` must be an array');
  const checked = cases.map((entry: unknown, index) => decodeCase(entry, index, options.domain));
  const deciding = new Set<string>();
  const failures: CaseFailure[] = [];
  const skipped: number[] = [];
  for (const [index, one] of checked.entries()) {
    const roles = rolesFor(one, options);
    if (roles === undefined) {
      skipped.push(index);
      continue;
    }
    const { domain, action, resource, context } = one;
    const decision = engine.decideRoles({ domain, roles, action, resource, ...(context !== undefined && { context }) });
    const { policy, assertion, status } = decision;
    if (policy !== undefined && assertion !== undefined) deciding.add(keyOf({ domain: one.domain, policy, assertion }));
    // A caller without a role never gets as far as the policy: that is a plain refusal for the author of a case.
    if (!fits(one.expect, status, roles)) failures.push(failureOf(index, one, roles, decision));
  }
  return {
    passed: checked.length - failures.length - skipped.length,
    failures,
    skipped,
    coverage: coverageOf(engine, new Set(checked.map(({ domain }) => domain)), deciding),
  };
}

function rolesFor({ subject, domain, at }: CheckedCase, { rolesOf }: RunCasesOptions): readonly string[] | undefined {
  return subject.kind === 'roles' ? subject.roles : rolesOf?.(subject.principal, domain, at);
}

/** `deny` does not accept what comes of a slip of the pen: an unknown domain, a resource of another one, no action. */
const slips: ReadonlySet<Status> = new Set([
  'DENY_DOMAIN_NOT_FOUND',
  'DENY_DOMAIN_MISMATCH',
  'DENY_INVALID_PARAMETERS',
]);

function fits(expect: CheckedCase['expect'], status: Status, roles: readonly string[]): boolean {
  if (expect === 'allow') return status === 'ALLOW';
  if (expect === 'deny') return status !== 'ALLOW' && !slips.has(status);
  return status === expect || (expect === 'DENY_NO_MATCH' && roles.length === 0 && status === 'DENY_TOKEN_INVALID');
}

function failureOf(index: number, one: CheckedCase, roles: readonly string[], decision: Decision): CaseFailure {
  const { subject, action, resource, expect, note } = one;
  const { status, policy, assertion } = decision;
  const who = subject.kind === 'principal' ? subject.principal : 'the caller';
  const held = roles.length === 0 ? 'no role' : `roles ${roles.join(', ')}`;
  const rule =
    assertion === undefined
      ? 'no assertion matches'
      : `policy ${policy}: ${assertion.effect} ${assertion.action} on ${assertion.resource} for ${assertion.role}`;
  const title = note === undefined ? '' : ` (${note})`;
  const message = `case ${index + 1}${title}: ${who} with ${held}: ${action} ${resource}: expected ${expect}, decided ${status}; ${rule}`;
  return { index, note, expected: expect, decided: status, message };
}

function coverageOf(
  engine: CaseEngine,
  domains: ReadonlySet<string>,
  deciding: ReadonlySet<string>,
): CaseReport['coverage'] {
  const all = [...domains].flatMap((domain) => assertionsOf(engine.policyOf(domain)));
  const missed = all.filter((one) => !deciding.has(keyOf(one)));
  const decided = all.length - missed.length;
  return { total: all.length, decided, share: all.length === 0 ? 1 : decided / all.length, missed };
}

function assertionsOf(policy: DomainPolicy | undefined): CoveredAssertion[] {
  return (policy?.assertions ?? []).map((compiled) => ({
    domain: policy?.domain ?? '',
    policy: compiled.policy,
    assertion: describeAssertion(compiled),
  }));
}

/** Key of an assertion. Two equal assertions of one policy share it: they cannot be told apart in a decision. */
function keyOf({ domain, policy, assertion }: CoveredAssertion): string {
  const { effect, role, action, resource, conditions, id } = assertion;
  return JSON.stringify([domain, policy, effect, role, action, resource, conditions, id]);
}
