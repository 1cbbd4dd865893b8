import type { DomainContent, MemberRecord } from '../model/records.ts';
import { jsonInSteps } from '../steps/json-steps.ts';
import type { Steps } from '../steps/steps.ts';
import { type DomainDiff, type ListDiff, type MembersDiff, ownOf } from './diff-domains.ts';

/** Before and after of a change as JSON, only what differs; a side that has nothing is absent. */
interface AuditText {
  readonly before?: string;
  readonly after?: string;
}

export function* auditTextInSteps(
  before: DomainContent | undefined,
  after: DomainContent,
  diff: DomainDiff,
): Steps<AuditText> {
  return {
    ...(before !== undefined && { before: yield* jsonInSteps(side('before', before, diff)) }),
    after: yield* jsonInSteps(side('after', after, diff)),
  };
}

function side(which: 'before' | 'after', domain: DomainContent, diff: DomainDiff): Record<string, unknown> {
  const gone = which === 'before';
  return withoutEmpty({
    ...(diff.fields && ownOf(domain)),
    roles: [...(gone ? diff.removedRoles : []), ...members(which, diff.roles)],
    groups: [...(gone ? diff.removedGroups : []), ...members(which, diff.groups)],
    policies: items(which, diff.policies),
    services: items(which, diff.services),
  });
}

function items<Item>(which: 'before' | 'after', diff: ListDiff<Item>): readonly Item[] {
  const changed = diff.changed.map((change) => change[which]);
  return [...(which === 'before' ? diff.removed : diff.added), ...changed];
}

/** Of a role or group that stays only the members that differ: it may have a hundred thousand others. */
function members<Item extends { readonly members: readonly MemberRecord[] }>(
  which: 'before' | 'after',
  diffs: readonly MembersDiff<Item>[],
): readonly Item[] {
  return diffs.flatMap((diff) => {
    const item = diff[which];
    return item === undefined ? [] : [{ ...item, members: items(which, diff.members) }];
  });
}

function withoutEmpty(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0));
}
