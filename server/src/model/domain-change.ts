import type { DomainName } from '@signet/policy-engine/names';
import { isEqual } from './equal.ts';
import { fieldsOf, isSame } from './fields.ts';
import { recordFields } from './record-fields.ts';
import type {
  DomainAttributes,
  DomainContent,
  DomainFields,
  DomainPart,
  DomainRecord,
  GroupFields,
  ListKind,
  MemberRecord,
  PolicyRecord,
  RoleFields,
  ServiceRecord,
  StoredPolicy,
} from './records.ts';

/** Difference of one list of named things: removed, added and changed items. */
export interface ListDiff<Item, Stored extends Item = Item> {
  readonly removed: readonly Stored[];
  readonly added: readonly Item[];
  readonly changed: readonly { readonly before: Stored; readonly after: Item }[];
}

/** A role or group that comes, goes or differs, or stays as it is with members that do. */
export interface MemberListChange<List extends RoleFields | GroupFields = RoleFields | GroupFields> {
  readonly before: List | undefined;
  readonly after: List | undefined;
  readonly members: ListDiff<MemberRecord>;
}

/**
 * Change of one domain: only the differences, however large the domain. It is judged, previewed, written, audited, published and described by
 * this value alone.
 */
export interface DomainChange {
  readonly name: DomainName;
  /** Attributes as stored; undefined: the domain is new. */
  readonly before: DomainAttributes | undefined;
  readonly after: DomainFields;
  /** Changes of roles; a removed one with all of its members, so that the audit log says who lost it. */
  readonly roles: readonly MemberListChange<RoleFields>[];
  readonly groups: readonly MemberListChange<GroupFields>[];
  readonly policies: ListDiff<PolicyRecord, StoredPolicy>;
  readonly services: ListDiff<ServiceRecord>;
}

/** A domain that differs after a change. */
export interface MovedDomain {
  readonly before: DomainRecord | undefined;
  readonly after: DomainContent;
  readonly change: DomainChange;
}

export const noDiff: ListDiff<never> = { removed: [], added: [], changed: [] };

/** A change that leaves everything as it is. */
export function unchanged(stored: DomainAttributes): DomainChange {
  return {
    name: stored.name,
    before: stored,
    after: stored,
    roles: [],
    groups: [],
    policies: noDiff,
    services: noDiff,
  };
}

/** Items of a list that a change adds or replaces. */
export function written<Item>({ added, changed }: ListDiff<Item>): readonly Item[] {
  return changed.length === 0 ? added : [...added, ...changed.map(({ after }) => after)];
}

export function isEmptyDiff({ removed, added, changed }: ListDiff<unknown>): boolean {
  return removed.length + added.length + changed.length === 0;
}

export function isEmpty({ roles, groups, policies, services, ...change }: DomainChange): boolean {
  return roles.length + groups.length === 0 && isEmptyDiff(policies) && isEmptyDiff(services) && !changesFields(change);
}

/** Domain attributes without the name. */
export function ownOf({ limits, quotas, accounts, ...domain }: DomainFields) {
  const parts = { limits, quotas, accounts };
  parts satisfies Record<Exclude<DomainPart, 'roles' | 'groups' | 'policies' | 'services'>, unknown>;
  return { ...fieldsOf(recordFields.domain, domain), ...parts };
}

/** True if the domain is new or its attributes change. */
export function changesFields({ before, after }: Pick<DomainChange, 'before' | 'after'>): boolean {
  return before !== after && (before === undefined || !isEqual(ownOf(before), ownOf(after)));
}

/** True if a role or group is added, removed, or differs in more than its members. */
export function changesList({ before, after }: MemberListChange): boolean {
  if (before === after) return false;
  return (
    before === undefined ||
    after === undefined ||
    !isSame({ ...recordFields.role, ...recordFields.group }, before, after)
  );
}

/** The name of a role or group, which a change does not change. */
export function listName<List extends RoleFields | GroupFields>({
  before,
  after,
}: MemberListChange<List>): List['name'] {
  const list = after ?? before;
  if (list === undefined) throw new Error('a change of no role and no group');
  return list.name;
}

/** The change with one more role or group in it. */
export function withList(change: DomainChange, kind: ListKind, list: MemberListChange): DomainChange {
  return withLists(change, kind, [list]);
}

export function withLists(change: DomainChange, kind: ListKind, lists: readonly MemberListChange[]): DomainChange {
  // Compared within a kind: names of roles and groups are told apart by type alone.
  return kind === 'role'
    ? { ...change, roles: [...change.roles, ...(lists as readonly MemberListChange<RoleFields>[])] }
    : { ...change, groups: [...change.groups, ...(lists as readonly MemberListChange<GroupFields>[])] };
}
