import type { PrincipalName } from '@signet/policy-engine/names';
import { decideInDomain, explainInDomain, type PolicyExplanation } from '@signet/policy-engine/policy';
import { principalClasses } from '../impact/principal-classes.ts';
import { type ExplainedRole, explainRoles } from '../roles/explain-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import { holdsNothing, type Snapshot } from '../snapshot/snapshot.ts';
import { runAtOnce } from '../steps/steps.ts';
import { type AccessQuery, checkAccess, resourceDomain } from './check-access.ts';

/** Explanation of a principal's access. */
export interface AccessExplanation extends PolicyExplanation {
  readonly granted: boolean;
  readonly principal: PrincipalName;
  /** The service does not exist, or it or its domain is disabled: then it holds nothing. */
  readonly switchedOff: boolean;
  readonly roles: readonly ExplainedRole[];
}

type Question = Omit<AccessQuery, 'trustDomain'>;

/**
 * The answer of `checkAccess` with its reasons: the roles that the principal holds and through what, the rule that decided, and for
 * a denial what is missing. Throws `UnknownDomainError` and `InvalidRequestError` as `checkAccess` does. Pure.
 */
export function explainAccess(snapshot: Snapshot, query: Question, now: number): AccessExplanation {
  const { granted, decision } = checkAccess(snapshot, query, now);
  const domain = existingDomain(snapshot, resourceDomain(query.resource));
  const roles = explainRoles(snapshot, domain, query.principal, now);
  const held = roles.filter((role) => role.held).map(({ role }) => role);
  const explained = explainInDomain(domain.policy, held, query.action, query.resource, query.context);
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

/** Principal with access: one by name, or all others that a wildcard member covers. */
interface AccessHolder {
  readonly principal: string;
  /** The roles that allow it, with the ways into them. */
  readonly through: readonly ExplainedRole[];
}

/** Principals that may do the action on the resource, names before wildcards. Throws as `explainAccess` does. Pure. */
export function listGrantees(snapshot: Snapshot, question: Omit<Question, 'principal'>, now: number): AccessHolder[] {
  const domain = existingDomain(snapshot, resourceDomain(question.resource));
  return runAtOnce(principalClasses([{ snapshot, domain }])).flatMap(({ label, example }) => {
    const query = { ...question, principal: example };
    if (!checkAccess(snapshot, query, now).granted) return [];
    const allows = (role: string) =>
      decideInDomain(domain.policy, [role], query.action, query.resource, query.context).status === 'ALLOW';
    const through = explainRoles(snapshot, domain, example, now).filter(({ role, held }) => held && allows(role));
    return [{ principal: label, through }];
  });
}
