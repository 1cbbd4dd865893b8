import type { DomainName, RoleName } from '@signet/policy-engine/names';
import { type DomainRecord, fullNameOf, type MemberRecord } from '../model/records.ts';
import type { DomainUpdate } from '../model/snapshot-source.ts';
import { type Steps, sliceLength } from '../steps/steps.ts';
import { type DomainMembers, type Entry, scannedEntries } from './domain-members.ts';
import { LayeredMap } from './layered-map.ts';

/** The members of a stored domain. Pure. */
export function* compileMembersInSteps({ name, roles, groups }: Lists): Steps<DomainMembers> {
  const builder = new MembersBuilder();
  for (const role of roles) yield* addAll(role.members, builder.role(role.name));
  for (const group of groups) yield* addAll(group.members, builder.group(`${name}:group.${group.name}`));
  return builder.build();
}

type Lists = Pick<DomainRecord, 'name' | 'roles' | 'groups'>;

export function* addAll(members: readonly MemberRecord[], add: AddMember): Steps<void> {
  for (const [index, member] of members.entries()) {
    if (index % sliceLength === 0) yield;
    add(member.name, untilOf(member));
  }
}

function untilOf({ disabled, expires = Number.POSITIVE_INFINITY }: MemberRecord): number {
  return disabled ? Number.NEGATIVE_INFINITY : expires;
}

/** The members of a domain after a change: where the names that changed are now. Costs what changes. Pure. */
export function changeMembers(
  previous: DomainMembers,
  { names, entries }: Pick<DomainUpdate, 'names' | 'entries'>,
): DomainMembers {
  const builder = new MembersBuilder();
  for (const { list, member } of entries) {
    const add = list.kind === 'role' ? builder.role(list.name as RoleName) : builder.group(fullNameOf(list));
    add(member.name, untilOf(member));
  }
  const fresh = builder.build();
  const starred = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const prefixes = changed(previous.prefixes, fresh.prefixes, starred);
  const groups = changed(previous.groups, fresh.groups, names);
  const isSame = prefixes === previous.prefixes && groups === previous.groups;
  const { prefixLengths, groupDomains } = isSame ? previous : summaryOf(prefixes, groups);
  return {
    names: changed(previous.names, fresh.names, names),
    prefixes,
    prefixLengths,
    groups,
    groupDomains,
    groupMembers: changed(previous.groupMembers, fresh.groupMembers, names),
  };
}

function changed<Value extends object>(
  previous: ReadonlyMap<string, Value>,
  fresh: ReadonlyMap<string, Value>,
  names: readonly string[],
): ReadonlyMap<string, Value> {
  return LayeredMap.of(previous).with(names.map((name) => [name, fresh.get(name)] as const));
}

/** Adds a name to a role or group; `until` as in `Entry`. */
export type AddMember = (name: string, until: number) => void;

/** Collects the members of a domain. */
export class MembersBuilder {
  readonly #names = new EntryLists<RoleName>();
  readonly #prefixes = new EntryLists<RoleName>();
  readonly #groups = new EntryLists<RoleName>();
  readonly #groupMembers = new EntryLists<string>();

  role(role: RoleName): AddMember {
    const entryOf = entriesOf(role);
    return (name, until) => {
      const entry = entryOf(until);
      if (name.endsWith('*')) this.#prefixes.add(name.slice(0, -1), entry);
      else if (name.includes(':')) this.#groups.add(name, entry);
      else this.#names.add(name, entry);
    };
  }

  group(group: string): AddMember {
    const entryOf = entriesOf(group);
    return (name, until) => this.#groupMembers.add(name, entryOf(until));
  }

  build(): DomainMembers {
    const [prefixes, groups] = [this.#prefixes.build(), this.#groups.build()];
    return {
      names: LayeredMap.of(this.#names.build()),
      prefixes: LayeredMap.of(prefixes),
      groups: LayeredMap.of(groups),
      ...summaryOf(prefixes, groups),
      groupMembers: LayeredMap.of(this.#groupMembers.build()),
    };
  }
}

function summaryOf(prefixes: ReadonlyMap<string, unknown>, groups: ReadonlyMap<string, unknown>) {
  return {
    prefixLengths: [...new Set(Array.from(prefixes.keys(), (prefix) => prefix.length))].sort((a, b) => a - b),
    groupDomains: [...new Set(Array.from(groups.keys(), groupDomain))],
  };
}

function groupDomain(group: string): DomainName {
  return group.slice(0, group.indexOf(':')) as DomainName;
}

/** Members without an end, and disabled ones, share one entry: a role may have a hundred thousand of them. */
function entriesOf<List extends string>(list: List): (until: number) => Entry<List> {
  const lasting = { list, until: Number.POSITIVE_INFINITY };
  const disabled = { list, until: Number.NEGATIVE_INFINITY };
  return (until) => (until === lasting.until ? lasting : until === disabled.until ? disabled : { list, until });
}

/** Lists of entries by name. Names that came to the same entries in the same order share one list, unless it is a long one. */
class EntryLists<List extends string> {
  readonly #map = new Map<string, Entry<List>[]>();
  /** Lists with more than `scannedEntries`. */
  readonly #long: Entry<List>[][] = [];
  /** Transition from a list to the same list with one entry more. */
  readonly #longer = new Map<readonly Entry<List>[] | undefined, Map<Entry<List>, Entry<List>[]>>();

  add(name: string, entry: Entry<List>): void {
    const known = this.#map.get(name);
    if (known !== undefined && known.length > scannedEntries) {
      known.push(entry);
      return;
    }
    const longer = this.#with(known, entry);
    if (longer.length > scannedEntries) this.#long.push(longer);
    this.#map.set(name, longer);
  }

  /** Added entries, long lists sorted: stores list by name, so there is hardly anything to do. */
  build(): ReadonlyMap<string, readonly Entry<List>[]> {
    for (const list of this.#long) list.sort((a, b) => (a.list < b.list ? -1 : a.list > b.list ? 1 : 0));
    return this.#map;
  }

  #with(known: readonly Entry<List>[] | undefined, entry: Entry<List>): Entry<List>[] {
    if (known?.length === scannedEntries || Number.isFinite(entry.until)) return [...(known ?? []), entry];
    let next = this.#longer.get(known);
    if (next === undefined) {
      next = new Map();
      this.#longer.set(known, next);
    }
    let longer = next.get(entry);
    if (longer === undefined) {
      longer = [...(known ?? []), entry];
      next.set(entry, longer);
    }
    return longer;
  }
}
