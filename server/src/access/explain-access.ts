import type { PrincipalName } from '@signet/policy-engine/names';
import { explainInDomain, type PolicyExplanation, Work } from '@signet/policy-engine/policy';
import { type ExplainedRole, type Explaining, explainRoles } from '../roles/explain-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import { holdsNothing, type Snapshot } from '../snapshot/snapshot.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { type AccessQuery, checkAccess, resourceDomain } from './check-access.ts';

/** Explanation of a principal's access. */
export interface AccessExplanation extends PolicyExplanation {
  readonly granted: boolean;
  readonly principal: PrincipalName;
  /** The service does not exist, or it or its domain is disabled: then it holds nothing. */
  readonly switchedOff: boolean;
  readonly roles: readonly ExplainedRole[];
}

export type AccessQuestion = Omit<AccessQuery, 'trustDomain'>;

interface ExplainingAccess extends Explaining {
  /** Maximum work of seeking what is missing for a denial, in units of `maxWork` of the engine; absent: the limit of the engine. */
  readonly reasonsWork?: number;
}

/** `explainAccessInSteps` at once. Pure. */
export function explainAccess(snapshot: Snapshot, query: AccessQuestion, now: number): AccessExplanation {
  return runAtOnce(explainAccessInSteps(snapshot, query, { now, compared: () => undefined }));
}

/**
 * The answer of `checkAccess` with its reasons: the roles that the principal holds and through what, the rule that decided, and for
 * a denial what is missing. Throws `UnknownDomainError` and `InvalidRequestError` as `checkAccess` does.
 */
export function* explainAccessInSteps(
  snapshot: Snapshot,
  query: AccessQuestion,
  explaining: ExplainingAccess,
): Steps<AccessExplanation> {
  const { compared, reasonsWork } = explaining;
  const { granted, decision, work } = checkAccess(snapshot, query, explaining.now);
  compared(work);
  const domain = existingDomain(snapshot, resourceDomain(query.resource));
  const roles = yield* explainRoles(snapshot, domain, query.principal, explaining);
  const held = roles.filter((role) => role.held).map(({ role }) => role);
  const reasons = reasonsWork === undefined ? undefined : new Work(reasonsWork);
  const explained = explainInDomain(domain.policy, held, query.action, query.resource, query.context, reasons);
  compared(reasons?.spent ?? 0);
  const { decidedBy, ...rest } = explained;
  // The server may deny where the engine allows: assuming a role takes more than a matching assertion.
  const isOverruled = explained.status === 'ALLOW' && !granted;
  return {
    ...rest,
    ...(decidedBy !== undefined && !isOverruled && { decidedBy }),
    // Without any role the engine reports a malformed request; here it is an answer.
    status: decision.status,
    granted,
    principal: query.principal,
    switchedOff: holdsNothing(snapshot, query.principal),
    roles,
  };
}
