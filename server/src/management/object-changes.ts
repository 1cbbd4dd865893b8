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
import {
  type FieldChange,
  fieldChanges,
  showDomain,
  showGroup,
  showMember,
  showPolicy,
  showRole,
  showService,
} from './field-changes.ts';

export interface ObjectChange {
  readonly change: 'create' | 'change' | 'delete';
  readonly kind: 'domain' | 'role' | 'group' | 'member' | 'policy' | 'assertion' | 'service';
  readonly domain: DomainName;
  /** `reader`, `reader: media.player` for a member, `movies version 1: allow read …` for an assertion. */
  readonly name: string;
  /** Changes of its fields; absent where none differs, and for a deleted object. */
  readonly fields?: readonly FieldChange[];
}

export function deletionOf(domain: DomainName): ObjectChange {
  return { change: 'delete', kind: 'domain', domain, name: domain };
}

type OwnChange = Omit<ObjectChange, 'domain'>;

interface Kind<Item> {
  readonly kind: ObjectChange['kind'];
  nameOf(item: Item): string;
  fieldsOf(before: Item | undefined, after: Item): readonly FieldChange[];
}

/** Objects that a change creates, changes and deletes, down to members and assertions. Pure. */
export function describeChanges(change: DomainChange): ObjectChange[] {
  const { name: domain, before, after, roles, groups, services } = change;
  const own = changesFields(change)
    ? [changed({ kind: 'domain', name: domain }, before, () => fieldChanges(before, after, showDomain))]
    : [];
  const items = [
    ...own,
    ...roles.flatMap((role) => listChanges('role', role, (from, to) => fieldChanges(from, to, showRole))),
    ...groups.flatMap((group) => listChanges('group', group, (from, to) => fieldChanges(from, to, showGroup))),
    ...policyChanges(change),
    ...listed(services, {
      kind: 'service',
      nameOf: ({ name }) => name,
      fieldsOf: (from, to) => fieldChanges(from, to, showService),
    }),
  ];
  return items.map((item) => ({ ...item, domain }));
}

function changed(
  item: Pick<OwnChange, 'kind' | 'name'>,
  before: unknown,
  fieldsOf: () => readonly FieldChange[],
): OwnChange {
  const fields = fieldsOf();
  return { change: before === undefined ? 'create' : 'change', ...item, ...(fields.length > 0 && { fields }) };
}

function listed<Item>(diff: ListDiff<Item>, { kind, nameOf, fieldsOf }: Kind<Item>): OwnChange[] {
  return [
    ...diff.removed.map((item) => ({ change: 'delete' as const, kind, name: nameOf(item) })),
    ...diff.changed.map(({ before, after }) =>
      changed({ kind, name: nameOf(after) }, before, () => fieldsOf(before, after)),
    ),
    ...diff.added.map((item) => changed({ kind, name: nameOf(item) }, undefined, () => fieldsOf(undefined, item))),
  ];
}

/** Changes of roles or groups; the members of a removed one are not listed. */
function listChanges<List extends MemberListChange>(
  kind: 'role' | 'group',
  list: List,
  fieldsOf: (before: List['before'], after: NonNullable<List['after']>) => readonly FieldChange[],
): OwnChange[] {
  const name = listName(list);
  const { before, after } = list;
  if (after === undefined) return [{ change: 'delete', kind, name }];
  const own = changesList(list) ? [changed({ kind, name }, before, () => fieldsOf(before, after))] : [];
  const members = listed(list.members, {
    kind: 'member',
    nameOf: (member) => `${name}: ${member.name}`,
    fieldsOf: (from, to) => fieldChanges(from, to, showMember),
  });
  return [...own, ...members];
}

function policyChanges({ policies }: DomainChange): OwnChange[] {
  const nameOf = ({ name, version }: PolicyRecord) => `${name} version ${version}`;
  const inside = policies.changed.flatMap(({ before, after }) => assertionChanges(nameOf(after), before, after));
  const own = listed(policies, {
    kind: 'policy',
    nameOf,
    fieldsOf: (from: PolicyRecord | undefined, to: PolicyRecord) => fieldChanges(from, to, showPolicy),
  });
  return [...own, ...inside];
}

function assertionChanges(policy: string, before: PolicyRecord, after: PolicyRecord): OwnChange[] {
  const keyOf = (assertion: PolicyRecord['assertions'][number]) => JSON.stringify(plainAssertion(assertion));
  const diff = diffLists(before.assertions, after.assertions, keyOf);
  return listed(
    { ...diff, changed: [] },
    { kind: 'assertion', nameOf: (assertion) => `${policy}: ${describeAssertion(assertion)}`, fieldsOf: () => [] },
  );
}
