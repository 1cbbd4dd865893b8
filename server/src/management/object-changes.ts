import type { DomainName } from '@signet/policy-engine/names';
import {
  changesFields,
  changesList,
  type DomainChange,
  type ListDiff,
  listName,
  type MemberListChange,
} from '../model/domain-change.ts';
import type { PolicyRecord } from '../model/records.ts';
import { diffLists, plainAssertion } from '../store/diff-domains.ts';
import { describeAssertion } from './describe-assertion.ts';

/** One thing that a change touches. */
export interface ObjectChange {
  readonly change: 'create' | 'change' | 'delete';
  readonly kind: 'domain' | 'role' | 'group' | 'member' | 'policy' | 'assertion' | 'service';
  readonly domain: DomainName;
  /** `reader`, `reader: media.player` for a member, `movies version 1: allow read …` for an assertion. */
  readonly name: string;
}

/** What a change creates, changes and deletes, down to members and assertions. Pure. */
export function describeChanges(change: DomainChange): ObjectChange[] {
  const { name: domain, before, roles, groups, services } = change;
  const own: Omit<ObjectChange, 'domain'>[] = [];
  if (before === undefined) own.push({ change: 'create', kind: 'domain', name: domain });
  else if (changesFields(change)) own.push({ change: 'change', kind: 'domain', name: domain });
  const items = [
    ...own,
    ...roles.flatMap((role) => listChanges('role', role)),
    ...groups.flatMap((group) => listChanges('group', group)),
    ...policyChanges(change),
    ...listed('service', services, ({ name }) => name),
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

/** Who was in a role or group that goes is not listed. */
function listChanges(kind: 'role' | 'group', list: MemberListChange): Omit<ObjectChange, 'domain'>[] {
  const name = listName(list);
  if (list.after === undefined) return [{ change: 'delete', kind, name }];
  const own: Omit<ObjectChange, 'domain'>[] = [];
  if (list.before === undefined) own.push({ change: 'create', kind, name });
  else if (changesList(list)) own.push({ change: 'change', kind, name });
  return [...own, ...listed('member', list.members, (member) => `${name}: ${member.name}`)];
}

function policyChanges({ policies }: DomainChange): Omit<ObjectChange, 'domain'>[] {
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
