import type { DomainName, RoleName } from '@signet/policy-engine/names';
import type { Change, NearMiss, PolicyExplanation } from '@signet/policy-engine/policy';
import type { ExplainedRole, RolePath } from '../roles/explain-roles.ts';
import { describeAssertion } from './describe-assertion.ts';

/** A path whose names are plain strings, as an answer of the API has them. */
export type ShownPath = RolePath extends infer Path ? { readonly [Key in keyof Path]: Plain<Path[Key]> } : never;

type Plain<Value> = Value extends DomainName | RoleName ? string : Value;

/** The same of a role. */
export interface ShownRole extends Omit<ExplainedRole, 'role' | 'paths'> {
  readonly role: string;
  readonly paths: readonly ShownPath[];
}

/** An explanation of the server's own, or as its API shows it. */
export interface ShownExplanation extends PolicyExplanation {
  readonly granted: boolean;
  readonly principal: string;
  readonly switchedOff: boolean;
  readonly roles: readonly ShownRole[];
  /** Number of lists that were left out. */
  readonly hidden?: number;
}

/** An explanation for people, a line for each thing to know. */
export function describeExplanation(explained: ShownExplanation): string[] {
  const { granted, status, changes, hidden } = explained;
  return [
    ...(hidden === undefined ? [] : [`${hidden} roles, groups or domains are left out, as you may not view them`]),
    `${granted ? 'granted' : 'not granted'} (${status})`,
    ...describeReasons(explained),
    ...changes.map((change) => `would help: ${describeChange(change)}`),
  ];
}

/** Lines about the principal's roles, the deciding assertion, and near misses. */
export function describeReasons({ principal, switchedOff, roles, decidedBy, nearMisses }: ShownExplanation): string[] {
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
export function describeRole({ role, held, paths }: ShownRole): string {
  const ways = paths.map(describePath).join(', ');
  return `${held ? 'role' : 'not in role'} ${role}${ways === '' ? '' : ` (${ways})`}`;
}

/** Line about a path into a role, or why it does not apply. */
export function describePath(path: ShownPath): string {
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
