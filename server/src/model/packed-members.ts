import { type Columns, defaultsOf, valuesOf } from './fields.ts';
import { recordFields } from './record-fields.ts';
import type { DomainRecord, GroupFields, ListKind, MemberRecord, RoleFields, WithMembers } from './records.ts';
import type { PackedDomain, PackedMembers } from './snapshot-source.ts';

type MemberRow = Columns<typeof recordFields.member>;

export const memberColumns = Object.values(recordFields.member).map(({ column }) => column);

interface UnpackedList {
  readonly kind: ListKind;
  readonly name: string;
  /** The names of members of which nothing else is said. */
  readonly plain: string[];
  readonly others: MemberRecord[];
}

/** The roles or groups that have members, sorted by name. */
export function unpackLists({ kind, ...packed }: PackedMembers): readonly UnpackedList[] {
  const found = new Map<string, UnpackedList>();
  const listOf = (name: string): UnpackedList => {
    const list = found.get(name) ?? { kind, name, plain: [], others: [] };
    found.set(name, list);
    return list;
  };
  // Made by the database from members that were validated when written.
  const [names, lists] = [JSON.parse(packed.names) as string[], JSON.parse(packed.lists) as string[]];
  let list: UnpackedList | undefined;
  for (const [index, name] of names.entries()) {
    const wanted = lists[index] ?? '';
    if (list?.name !== wanted) list = listOf(wanted);
    list.plain.push(name);
  }
  for (const [wanted, name, ...cells] of JSON.parse(packed.others) as [
    string,
    string,
    ...(string | number | null)[],
  ][]) {
    const row = Object.fromEntries(memberColumns.map((column, index) => [column, cells[index] ?? null]));
    listOf(wanted).others.push({ name, ...valuesOf(recordFields.member, row as MemberRow) });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The domain with its members in its roles and groups, sorted by name. */
export function unpackDomain({ members: packed, ...domain }: PackedDomain): DomainRecord {
  const members = new Map<string, MemberRecord[]>();
  for (const { kind, name, plain, others } of packed.flatMap(unpackLists)) {
    const key = `${kind}.${name}`;
    members.set(key, [
      ...(members.get(key) ?? []),
      ...plain.map((member) => ({ name: member, ...defaults })),
      ...others,
    ]);
  }
  const withMembers = <List extends RoleFields | GroupFields>(kind: ListKind, list: List): List & WithMembers => ({
    ...list,
    members: (members.get(`${kind}.${list.name}`) ?? []).sort((a, b) => (a.name < b.name ? -1 : 1)),
  });
  return {
    ...domain,
    roles: domain.roles.map((role) => withMembers('role', role)),
    groups: domain.groups.map((group) => withMembers('group', group)),
  };
}

const defaults = defaultsOf(recordFields.member);
