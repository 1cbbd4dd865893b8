import type { DomainName } from '@signet/policy-engine/names';
import type { DomainContent, DomainRecord, MemberRecord, PolicyRecord } from '../model/records.ts';
import {
  type DomainDiff,
  diffDomains,
  diffLists,
  type ListDiff,
  type MembersDiff,
  plainAssertion,
} from '../store/diff-domains.ts';
import { describeAssertion } from './describe-assertion.ts';

/** One thing that a change touches. */
export interface ObjectChange {
  readonly change: 'create' | 'change' | 'delete';
  readonly kind: 'domain' | 'role' | 'group' | 'member' | 'policy' | 'assertion' | 'service';
  readonly domain: DomainName;
  /** `reader`, `reader: media.player` for a member, `movies version 1: allow read …` for an assertion. */
  readonly name: string;
}

/** What making `after` of `before` creates, changes and deletes, down to members and assertions. Pure. */
export function describeChanges(
  before: DomainRecord | undefined,
  after: DomainContent,
  diff: DomainDiff = diffDomains(before, after),
): ObjectChange[] {
  const domain = after.name;
  const own: Omit<ObjectChange, 'domain'>[] = [];
  if (before === undefined) own.push({ change: 'create', kind: 'domain', name: domain });
  else if (diff.fields) own.push({ change: 'change', kind: 'domain', name: domain });
  const items = [
    ...own,
    ...diff.removedRoles.map(({ name }) => ({ change: 'delete', kind: 'role', name }) as const),
    ...diff.roles.flatMap((role) => memberListChanges('role', role)),
    ...diff.removedGroups.map(({ name }) => ({ change: 'delete', kind: 'group', name }) as const),
    ...diff.groups.flatMap((group) => memberListChanges('group', group)),
    ...policyChanges(diff),
    ...listed('service', diff.services, ({ name }) => name),
  ];
  return items.map((item) => ({ ...item, domain }));
}

function listed<Item>(
  kind: ObjectChange['kind'],
  diff: ListDiff<Item>,
  nameOf: (item: Item) => string,
): Omit<ObjectChange, 'domain'>[] {
  return [
    ...diff.removed.map((item) => ({ change: 'delete' as const, kind, name: nameOf(item) })),
    ...diff.changed.map(({ after }) => ({ change: 'change' as const, kind, name: nameOf(after) })),
    ...diff.added.map((item) => ({ change: 'create' as const, kind, name: nameOf(item) })),
  ];
}

function memberListChanges<Item extends { readonly name: string; readonly members: readonly MemberRecord[] }>(
  kind: 'role' | 'group',
  diff: MembersDiff<Item>,
): Omit<ObjectChange, 'domain'>[] {
  const { name } = diff.after;
  const own: Omit<ObjectChange, 'domain'>[] = [];
  if (diff.before === undefined) own.push({ change: 'create', kind, name });
  else if (diff.fields) own.push({ change: 'change', kind, name });
  return [...own, ...listed('member', diff.members, (member) => `${name}: ${member.name}`)];
}

function policyChanges({ policies }: DomainDiff): Omit<ObjectChange, 'domain'>[] {
  const nameOf = ({ name, version }: PolicyRecord) => `${name} version ${version}`;
  const inside = policies.changed.flatMap(({ before, after }) => assertionChanges(nameOf(after), before, after));
  return [...listed('policy', policies, nameOf), ...inside];
}

function assertionChanges(policy: string, before: PolicyRecord, after: PolicyRecord): Omit<ObjectChange, 'domain'>[] {
  const keyOf = (assertion: PolicyRecord['assertions'][number]) => JSON.stringify(plainAssertion(assertion));
  const diff = diffLists(before.assertions, after.assertions, keyOf);
  const nameOf = (assertion: PolicyRecord['assertions'][number]) => `${policy}: ${describeAssertion(assertion)}`;
  return listed('assertion', { ...diff, changed: [] }, nameOf);
}
