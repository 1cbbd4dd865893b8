import type { Change, NearMiss } from '@signet/policy-engine/policy';
import type { AccessExplanation } from '../access/explain-access.ts';
import type { ExplainedRole, RolePath } from '../roles/explain-roles.ts';
import { describeAssertion } from './describe-assertion.ts';

/** An explanation for people, a line for each thing to know. */
export function describeExplanation(explained: AccessExplanation & { readonly hidden?: number }): string[] {
  const { granted, status, changes, hidden } = explained;
  return [
    ...(hidden === undefined ? [] : [`${hidden} roles, groups or domains are left out, as you may not view them`]),
    `${granted ? 'granted' : 'not granted'} (${status})`,
    ...describeReasons(explained),
    ...changes.map((change) => `would help: ${describeChange(change)}`),
  ];
}

/** Lines about the principal's roles, the deciding assertion, and near misses. */
export function describeReasons({ principal, switchedOff, roles, decidedBy, nearMisses }: AccessExplanation): string[] {
  return [
    ...(switchedOff ? [`${principal} does not exist, or it or its domain is disabled: it holds no role`] : []),
    ...(roles.length === 0 ? [`${principal} holds no role of the domain`] : roles.map((role) => describeRole(role))),
    ...(decidedBy === undefined
      ? []
      : [`decided by policy ${decidedBy.policy}: ${describeAssertion(decidedBy.assertion)}`]),
    ...nearMisses.map(
      ({ policy, assertion, misses }) =>
        `near: policy ${policy}: ${describeAssertion(assertion)} (${describeMisses(misses)})`,
    ),
  ];
}

/** An assertion that fits did not decide: another one denies. */
function describeMisses(misses: NearMiss['misses']): string {
  return misses.length === 0 ? 'fits' : `differs in ${misses.join(', ')}`;
}

/** A role, whether it is held, and the ways into it. */
export function describeRole({ role, held, paths }: ExplainedRole): string {
  const ways = paths.map(describePath).join(', ');
  return `${held ? 'role' : 'not in role'} ${role}${ways === '' ? '' : ` (${ways})`}`;
}

/** Line about a path into a role, or why it does not apply. */
export function describePath(path: RolePath): string {
  switch (path.kind) {
    case 'member':
      return `member ${path.entry}${path.state === 'counts' ? '' : `, ${path.state}`}`;
    case 'group':
      return `group ${path.group}${path.state === 'counts' ? '' : `, ${path.state}`}`;
    case 'assumed':
      return `assumed from role ${path.from}`;
    default:
      return `delegated to ${path.domain}, its role ${path.from}`;
  }
}

/** A change that helps to get access. */
export function describeChange(change: Change): string {
  switch (change.kind) {
    case 'grant-role':
      return `membership of role ${change.role} of ${change.domain}`;
    case 'add-assertion':
      return `an assertion ${describeAssertion(change.assertion)}`;
    default:
      return `removing from policy ${change.policy}: ${describeAssertion(change.assertion)}`;
  }
}
