import type { DomainName } from '@signet/policy-engine/names';
import { type AddMember, MembersBuilder } from '../snapshot/compile-members.ts';
import type { DomainMembers, Entry } from '../snapshot/domain-members.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import {
  type AccessChange,
  type Comparison,
  type Impact,
  impactWithin,
  reachedFrom,
  touchedDomains,
} from './impact.ts';

/** Rights of a principal to look at domains. */
export interface Viewer {
  /** True if all roles and groups of a domain are visible. */
  seesAll(domain: DomainName): boolean;
  /** `domain`, `role.<name>` or `group.<name>`. */
  sees(domain: DomainName, object: string): boolean;
}

export interface FoldedImpact extends Impact {
  /** True if access may change in domains that the viewer does not see. */
  readonly more: boolean;
}

/**
 * Impact as far as the viewer may know it. INVARIANT: it is found in snapshots in which one stand-in takes the place of all members of each role
 * and group that the viewer does not see, so that nothing in it depends on who these members are; the stand-in is shown as `via
 * <domain>:group.<name>`. `own`: the domains that the viewer changes.
 */
export function* foldedImpactInSteps(
  comparison: Comparison,
  own: ReadonlySet<DomainName>,
  viewer: Viewer,
): Steps<FoldedImpact> {
  const { before, after } = comparison;
  const touched = touchedDomains(before, after);
  const visible = touched.filter((name) => own.has(name) || viewer.sees(name, 'domain'));
  const names = new Set(visible.flatMap((name) => [name, ...reachedFrom(before, name), ...reachedFrom(after, name)]));
  const folder = new Folder(viewer, groupsNamed(viewer, [before, after], names));
  const was = yield* folder.fold(before, names);
  const is = yield* folder.fold(after, names);
  const impact = yield* impactWithin(visible, { ...comparison, before: was, after: is });
  const changes = impact.changes.map((change) => folder.told(change));
  return { ...impact, changes, more: visible.length < touched.length };
}

/** A snapshot in which stand-ins take the place of the members whom a viewer may not know. */
interface FoldedSnapshot {
  readonly snapshot: Snapshot;
  /** `via <domain>:group.<name>` of a stand-in; undefined for every other principal. */
  readonly labelOf: (principal: string) => string | undefined;
}

/** The snapshot, for questions about one domain, as far as the viewer may know it (the invariant of `foldedImpactInSteps`). */
export function* foldedSnapshotInSteps(snapshot: Snapshot, own: DomainName, viewer: Viewer): Steps<FoldedSnapshot> {
  const names = new Set([own, ...reachedFrom(snapshot, own)]);
  const folder = new Folder(viewer, groupsNamed(viewer, [snapshot], names));
  return { snapshot: yield* folder.fold(snapshot, names), labelOf: (principal) => folder.labelOf(principal) };
}

/**
 * The full names of groups that are members of roles of these domains. INVARIANT: of roles that the viewer sees; that a group is a member of
 * another role is as hidden as its members.
 */
function groupsNamed(
  viewer: Viewer,
  snapshots: readonly Snapshot[],
  names: ReadonlySet<DomainName>,
): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { members } of snapshots) {
    for (const name of names) {
      const isSeen = ({ list }: Entry) => viewer.seesAll(name) || viewer.sees(name, `role.${list}`);
      for (const [group, roles] of members.get(name)?.groups ?? []) if (roles.some(isSeen)) found.add(group);
    }
  }
  return found;
}

/** Domain of stand-ins, in the grammar of principals, and unusable as a name: it never leaves this file. */
const standInDomain = '_folded_';

const lasting = Number.POSITIVE_INFINITY;

/** Copies the entries into those of the lists that are given. */
function* copyEntries(
  entries: ReadonlyMap<string, readonly Entry[]>,
  lists: ReadonlyMap<string, AddMember>,
): Steps<void> {
  for (const [member, listed] of entries) {
    yield;
    for (const { list, until } of listed) lists.get(list)?.(member, until);
  }
}

class Folder {
  readonly #viewer: Viewer;
  readonly #groups: ReadonlySet<string>;
  readonly #labels = new Map<string, string>();
  readonly #standIns = new Map<string, string>();
  /** Members that are the same in both snapshots stay the same. */
  readonly #folded = new Map<DomainMembers, DomainMembers>();

  constructor(viewer: Viewer, groups: ReadonlySet<string>) {
    this.#viewer = viewer;
    this.#groups = groups;
  }

  *fold(snapshot: Snapshot, names: ReadonlySet<DomainName>): Steps<Snapshot> {
    const all = new Map(snapshot.members);
    for (const name of names) {
      const [domain, members] = [snapshot.domain(name), snapshot.members.get(name)];
      if (domain === undefined || members === undefined || this.#viewer.seesAll(name)) continue;
      const folded = this.#folded.get(members) ?? (yield* this.#foldMembers(domain, members));
      this.#folded.set(members, folded);
      all.set(name, folded);
    }
    return { ...snapshot, members: all };
  }

  *#foldMembers({ name, roles }: DomainSnapshot, members: DomainMembers): Steps<DomainMembers> {
    const builder = new MembersBuilder();
    const rolesSeen = new Map<string, AddMember>();
    for (const role of roles.values()) {
      yield;
      const add = builder.role(role.name);
      if (this.#viewer.sees(name, `role.${role.name}`)) rolesSeen.set(role.name, add);
      else if (role.trust === undefined) add(this.#standIn(`${name}:role.${role.name}`), lasting);
    }
    yield* copyEntries(members.names, rolesSeen);
    yield* copyEntries(members.groups, rolesSeen);
    yield* copyEntries(new Map([...members.prefixes].map(([prefix, entries]) => [`${prefix}*`, entries])), rolesSeen);
    const groupsSeen = new Map<string, AddMember>();
    for (const full of this.#groups) {
      if (!full.startsWith(`${name}:group.`)) continue;
      const add = builder.group(full);
      if (this.#viewer.sees(name, full.slice(name.length + 1))) groupsSeen.set(full, add);
      else add(this.#standIn(full), lasting);
    }
    yield* copyEntries(members.groupMembers, groupsSeen);
    return builder.build();
  }

  #standIn(list: string): string {
    const name = this.#standIns.get(list) ?? `${standInDomain}._${this.#standIns.size}`;
    this.#standIns.set(list, name);
    this.#labels.set(name, `via ${list}`);
    return name;
  }

  labelOf(principal: string): string | undefined {
    return this.#labels.get(principal);
  }

  told(change: AccessChange): AccessChange {
    const label = this.labelOf(change.principal);
    if (label === undefined) return change;
    return { ...change, principal: label, example: { ...change.example, principal: label } };
  }
}
