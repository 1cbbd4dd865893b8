import { foldAscii, fullRoleName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { ForbiddenError } from '../../errors.ts';
import type { RequestContent, StoredRequest } from '../../model/change-requests.ts';
import {
  type DomainChange,
  type ListDiff,
  type MemberListChange,
  type MovedDomain,
  written,
} from '../../model/domain-change.ts';
import type { ChangeContext, MemberRecord } from '../../model/records.ts';
import type { StoreReader, StoreTransaction } from '../../model/store.ts';
import { diffDomains } from '../../store/diff-domains.ts';
import { describeChanges } from '../object-changes.ts';
import type { CallerRights } from '../rights.ts';
import { type Needs, rolesWithOtherMembers } from './needed.ts';
import { domainsOpenedBy } from './opened-domains.ts';
import { approvalActions } from './reviewed-actions.ts';

/* Changes in an emergency: made at once, without the approvals that they need, and reviewed by another person afterwards. */

/** Longest life of a membership that is made so, in milliseconds. */
export const emergencyMs = 4 * 3_600_000;

/** Objects that a record lists. */
const maxListed = 1000;

/**
 * Requires the right to make a change without approvals. Nobody raises its own power for good by that: approvals are not lowered, and the rights
 * to do without them are given to nobody. Throws `ForbiddenError`.
 */
export async function requireBreakGlass(
  moved: readonly MovedDomain[],
  needs: Needs,
  { caller, holds }: Pick<CallerRights, 'caller' | 'holds'>,
  reader: StoreReader,
): Promise<void> {
  for (const name of needs.keys()) {
    if (holds('break_glass', name)) continue;
    throw new ForbiddenError(`\`${caller}\` lacks \`break_glass\` on \`${name}:domain\``);
  }
  for (const { change } of moved) {
    if (lowersApprovals(change)) throw notByBreakGlass('approvals are not lowered');
    const isGiven = givesApprovalRights(change) || (await entersApprovalRoles(change, reader));
    // Whoever can be a service with such a right has it.
    if (isGiven || (await domainsOpenedBy(change, reader)).length > 0) {
      throw notByBreakGlass(`${approvalActions.map((name) => `\`${name}\``).join(', ')} are not given`);
    }
  }
}

function notByBreakGlass(why: string): ForbiddenError {
  return new ForbiddenError(`break-glass does not do this: ${why} without approval`);
}

function lowersApprovals({ before, after, roles }: DomainChange): boolean {
  const isLower = (was: number | undefined, is: number | undefined) => (is ?? 0) < (was ?? 0);
  return (
    isLower(before?.approvals, after.approvals) ||
    roles.some((role) => isLower(role.before?.approvals, role.after?.approvals))
  );
}

function isApprovalAction(action: string): boolean {
  return approvalActions.some((name) => foldAscii(action) === name);
}

function givesApprovalRights({ policies }: DomainChange): boolean {
  return written(policies).some(({ assertions }) => assertions.some(({ action }) => isApprovalAction(action)));
}

/** True if somebody else would be in a role that has one of the rights. */
async function entersApprovalRoles(change: DomainChange, reader: StoreReader): Promise<boolean> {
  const isTouched = await rolesWithOtherMembers(change, reader);
  const powerful = (await reader.policies(change.name)).flatMap(({ assertions }) =>
    assertions.filter(({ action }) => isApprovalAction(action)).map(({ role }) => foldAscii(role)),
  );
  if (powerful.length === 0) return false;
  const roles = await reader.listNames(change.name, 'role');
  return roles.some(
    (role) => isTouched(role) && powerful.some((pattern) => matchesPattern(pattern, fullRoleName(change.name, role))),
  );
}

/** The change, with an end for each membership that it makes: none lasts longer than `until`. */
export function endingBy(change: DomainChange, until: number): DomainChange {
  const bound = (member: MemberRecord): MemberRecord => ({
    ...member,
    expires: Math.min(member.expires ?? until, until),
  });
  const members = ({ removed, added, changed }: ListDiff<MemberRecord>): ListDiff<MemberRecord> => ({
    removed,
    added: added.map(bound),
    changed: changed.map(({ before, after }) => ({ before, after: bound(after) })),
  });
  const list = <Change extends MemberListChange>(one: Change): Change => ({ ...one, members: members(one.members) });
  return { ...change, roles: change.roles.map(list), groups: change.groups.map(list) };
}

interface Emergency {
  readonly content: RequestContent;
  readonly context: ChangeContext;
  readonly moved: readonly MovedDomain[];
  readonly needs: Needs;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Records a change that was made without the approvals that it needs, for review, in the transaction that made it. */
export function recordBreakGlass(
  transaction: StoreTransaction,
  { content, context, moved, needs, now }: Emergency,
): Promise<StoredRequest> {
  const { actor, certificateSerial, reason } = context;
  return transaction.addRequest({
    state: 'unreviewed',
    author: actor,
    ...(certificateSerial !== undefined && { certificate: certificateSerial }),
    created: now,
    expires: now,
    ...(reason !== undefined && { reason }),
    domains: moved.map(({ change }) => change.name).sort(),
    needed: Math.max(...[...needs.values()].map(({ approvals }) => approvals)),
    outcome: JSON.stringify(outcomeOf(moved)),
    content,
    approvals: [],
  });
}

/** Changes that were made, and the changes that undo them. */
function outcomeOf(moved: readonly MovedDomain[]) {
  const changes = moved.flatMap(({ change }) => describeChanges(change));
  const undo = moved.flatMap(({ before, after }) =>
    before === undefined ? [] : describeChanges(diffDomains(after as MovedDomain['before'], before)),
  );
  return { changes: changes.slice(0, maxListed), undo: undo.slice(0, maxListed) };
}
