import { type Decision, decideInDomain } from '@signet/policy-engine/policy';
import { checkAccess } from '../access/check-access.ts';
import { type DocumentProblem, UnknownDomainError } from '../errors.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { describeAssertion } from './describe-assertion.ts';
import type { CaseFile, PolicyCase } from './documents/case-file.ts';

/** A case whose answer is not the expected one. */
interface CaseFailure extends DocumentProblem {
  readonly note?: string;
  readonly expected: string;
  readonly decided: string;
  /** Reason of the decision: the roles held and the assertion that matched. */
  readonly why: string;
}

export interface CaseReport {
  readonly passed: number;
  readonly failures: readonly CaseFailure[];
  /** The assertions that decided a case, by `assertionKey`. */
  readonly deciding: ReadonlySet<string>;
}

/** Key of an assertion of an active policy: its place in the policy, from 1, is its id in a snapshot that was made of documents. */
export function assertionKey(domain: string, policy: string, id: number): string {
  return `${domain}/${policy}/${id}`;
}

/** Runs every case against a snapshot. `now` (milliseconds) counts where a case names no time. Pure. */
export function runCases(snapshot: Snapshot, files: readonly CaseFile[], now: number): CaseReport {
  let passed = 0;
  const failures: CaseFailure[] = [];
  const deciding = new Set<string>();
  for (const file of files) {
    for (const policyCase of file.cases) {
      const at = policyCase.at ?? now;
      const decision = decide(snapshot, policyCase, at);
      const { policy, assertion } = decision;
      if (policy !== undefined && assertion?.id !== undefined) {
        deciding.add(assertionKey(policyCase.domain, policy, assertion.id));
      }
      const failure = failureOf(snapshot, file, { policyCase, decision, at });
      if (failure === undefined) passed += 1;
      else failures.push(failure);
    }
  }
  return { passed, failures, deciding };
}

/** A case, and what was decided for it at this time. */
interface TriedCase {
  readonly policyCase: PolicyCase;
  readonly decision: Decision;
  readonly at: number;
}

function failureOf(
  snapshot: Snapshot,
  file: CaseFile,
  { policyCase, decision, at }: TriedCase,
): CaseFailure | undefined {
  if (fits(policyCase.expect, decision)) return undefined;
  const why = explain(snapshot, policyCase, decision, at);
  const question = `${who(policyCase)} ${policyCase.action} ${policyCase.resource}`;
  const message = `${question}: expected ${policyCase.expect}, decided ${decision.status} (${why})`;
  return {
    ...file.source.problem([policyCase.index], message),
    ...(policyCase.note !== undefined && { note: policyCase.note }),
    expected: policyCase.expect,
    decided: decision.status,
    why,
  };
}

function decide(snapshot: Snapshot, policyCase: PolicyCase, at: number): Decision {
  const { subject, action, resource, context } = policyCase;
  const domain = snapshot.domain(policyCase.domain);
  if (domain === undefined) return { status: 'DENY_DOMAIN_NOT_FOUND' };
  if (subject.kind === 'roles') return decideInDomain(domain.policy, subject.roles, action, resource, context);
  if (!resource.startsWith(`${domain.name}:`)) return { status: 'DENY_DOMAIN_MISMATCH' };
  try {
    const query = { principal: subject.principal, action, resource, ...(context !== undefined && { context }) };
    return checkAccess(snapshot, query, at).decision;
  } catch (error) {
    if (error instanceof UnknownDomainError) return { status: 'DENY_DOMAIN_NOT_FOUND' };
    throw error;
  }
}

/** A plain `deny` does not accept that the domain is missing: that would hide a slip of the pen. */
function fits(expect: PolicyCase['expect'], { status }: Decision): boolean {
  if (expect === 'allow') return status === 'ALLOW';
  if (expect === 'deny')
    return status !== 'ALLOW' && status !== 'DENY_DOMAIN_NOT_FOUND' && status !== 'DENY_DOMAIN_MISMATCH';
  return status === expect;
}

function who({ subject }: PolicyCase): string {
  return subject.kind === 'principal' ? subject.principal : `[${subject.roles.join(', ')}]`;
}

function explain(snapshot: Snapshot, policyCase: PolicyCase, decision: Decision, at: number): string {
  const domain = snapshot.domain(policyCase.domain);
  if (domain === undefined) return `domain \`${policyCase.domain}\` does not exist or is disabled`;
  const { subject } = policyCase;
  const roles =
    subject.kind === 'roles'
      ? subject.roles
      : grantedRoles(snapshot, domain, subject.principal, at).map((role) => role.name);
  const held = roles.length === 0 ? 'no role' : `roles ${roles.join(', ')}`;
  const { assertion } = decision;
  if (assertion === undefined) return `${held}; no assertion matches`;
  return `${held}; policy ${decision.policy ?? '?'}: ${describeAssertion(assertion)}`;
}
