import {
  changesFields,
  type DomainChange,
  type ListDiff,
  type MemberListChange,
  ownOf,
} from '../model/domain-change.ts';
import { jsonInSteps } from '../steps/json-steps.ts';
import type { Steps } from '../steps/steps.ts';
import { plainPolicy } from './diff-domains.ts';

/** Before and after of a change as JSON, only what differs; a side that has nothing is absent. */
interface AuditText {
  readonly before?: string;
  readonly after?: string;
}

export function* auditTextInSteps(change: DomainChange): Steps<AuditText> {
  return {
    ...(change.before !== undefined && { before: yield* jsonInSteps(yield* sideInSteps('before', change)) }),
    after: yield* jsonInSteps(yield* sideInSteps('after', change)),
  };
}

type Side = 'before' | 'after';

function* sideInSteps(side: Side, change: DomainChange): Steps<Record<string, unknown>> {
  const { [side]: fields, roles, groups, policies, services } = change;
  const plain: unknown[] = [];
  for (const policy of items(side, policies)) {
    plain.push(plainPolicy(policy));
    yield;
  }
  const parts = {
    roles: lists(side, roles),
    groups: lists(side, groups),
    policies: plain,
    services: items(side, services),
  };
  const differing = Object.entries(parts).filter(([, list]) => list.length > 0);
  return { ...(fields !== undefined && changesFields(change) && ownOf(fields)), ...Object.fromEntries(differing) };
}

function items<Item>(side: Side, { removed, added, changed }: ListDiff<Item>): readonly Item[] {
  return [...(side === 'before' ? removed : added), ...changed.map((item) => item[side])];
}

/** Changed members only for a role or group: it may have a hundred thousand others. */
function lists(side: Side, changes: readonly MemberListChange[]): readonly unknown[] {
  return changes.flatMap(({ [side]: list, members }) => {
    return list === undefined ? [] : [{ ...list, members: items(side, members) }];
  });
}
