import type { DomainName } from '@signet/policy-engine/names';
import { MemberList } from '../snapshot/member-list.ts';
import { indexInSteps } from '../snapshot/membership-index.ts';
import type { DomainSnapshot, Member, RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../snapshot/steps.ts';
import {
  type AccessChange,
  type Comparison,
  type Impact,
  impactWithin,
  reachedFrom,
  touchedDomains,
} from './impact.ts';

/** What somebody may look at. */
export interface Viewer {
  /** Whether all roles and groups of a domain are visible. */
  seesAll(domain: DomainName): boolean;
  /** `domain`, `role.<name>` or `group.<name>`. */
  sees(domain: DomainName, object: string): boolean;
}

export interface FoldedImpact extends Impact {
  /** Whether access may change in domains that the viewer does not see. */
  readonly more: boolean;
}

/**
 * The impact as somebody may know it. INVARIANT: it is found in snapshots in which one stand-in takes the place of all members of each role
 * and group that the viewer does not see, so that nothing in it depends on who these members are; the stand-in is told as
 * `via <domain>:group.<name>`. `own` is the domain that the viewer changes.
 */
export function* foldedImpactInSteps(comparison: Comparison, own: DomainName, viewer: Viewer): Steps<FoldedImpact> {
  const { before, after } = comparison;
  const touched = touchedDomains(before, after);
  const visible = touched.filter((name) => name === own || viewer.sees(name, 'domain'));
  const names = new Set(visible.flatMap((name) => [name, ...reachedFrom(before, name), ...reachedFrom(after, name)]));
  const folder = new Folder(viewer, groupsNamed([before, after], names));
  const was = yield* folder.fold(before, names);
  const is = yield* folder.fold(after, names);
  const impact = yield* impactWithin(visible, { ...comparison, before: was, after: is });
  const changes = impact.changes.map((change) => folder.told(change));
  return { ...impact, changes, more: visible.length < touched.length };
}

/** The full names of groups that are members of roles of these domains. */
function groupsNamed(snapshots: readonly Snapshot[], names: ReadonlySet<DomainName>): ReadonlySet<string> {
  const domains = snapshots.flatMap((snapshot) => [...names].flatMap((name) => snapshot.domain(name) ?? []));
  return new Set(domains.flatMap(({ membership }) => [...membership.groupRoles.keys()]));
}

/** In the grammar of principals, and of no use as the name of one: it never leaves this file. */
const standInDomain = '_folded_';

class Folder {
  readonly #viewer: Viewer;
  readonly #groups: ReadonlySet<string>;
  readonly #labels = new Map<string, string>();
  readonly #standIns = new Map<string, string>();
  /** A domain that is the same in both snapshots stays the same. */
  readonly #folded = new Map<DomainSnapshot, DomainSnapshot>();

  constructor(viewer: Viewer, groups: ReadonlySet<string>) {
    this.#viewer = viewer;
    this.#groups = groups;
  }

  *fold(snapshot: Snapshot, names: ReadonlySet<DomainName>): Steps<Snapshot> {
    const domains = new Map(snapshot.domains);
    for (const name of names) {
      const domain = snapshot.domain(name);
      if (domain === undefined || this.#viewer.seesAll(name)) continue;
      const folded = this.#folded.get(domain) ?? (yield* this.#foldDomain(domain));
      this.#folded.set(domain, folded);
      domains.set(name, folded);
    }
    return { ...snapshot, domains, domain: (name) => domains.get(name) };
  }

  *#foldDomain(domain: DomainSnapshot): Steps<DomainSnapshot> {
    const roles: RoleSnapshot[] = [];
    for (const role of domain.roles.values()) {
      yield;
      const isSeen = role.trust !== undefined || this.#viewer.sees(domain.name, `role.${role.name}`);
      roles.push(
        isSeen ? role : { ...role, members: MemberList.of([this.#standIn(`${domain.name}:role.${role.name}`)]) },
      );
    }
    const groups = yield* this.#foldGroups(domain);
    const membership = yield* indexInSteps({ roles, groups, assumable: domain.membership.assumable });
    return { ...domain, roles: new Map(roles.map((role) => [role.name, role])), membership };
  }

  *#foldGroups({ name, membership }: DomainSnapshot): Steps<ReadonlyMap<string, readonly Member[]>> {
    const prefix = `${name}:group.`;
    const groups = new Map<string, Member[]>();
    const hidden = new Set<string>();
    for (const full of this.#groups) {
      if (!full.startsWith(prefix)) continue;
      if (this.#viewer.sees(name, full.slice(name.length + 1))) groups.set(full, []);
      else hidden.add(full);
    }
    for (const [member, grants] of membership.groupMembers) {
      yield;
      for (const { group, ...expiry } of grants) groups.get(group)?.push({ name: member, disabled: false, ...expiry });
    }
    for (const full of hidden) groups.set(full, [this.#standIn(full)]);
    return groups;
  }

  #standIn(list: string): Member {
    const name = this.#standIns.get(list) ?? `${standInDomain}._${this.#standIns.size}`;
    this.#standIns.set(list, name);
    this.#labels.set(name, `via ${list}`);
    return { name, disabled: false };
  }

  told(change: AccessChange): AccessChange {
    const label = this.#labels.get(change.principal);
    if (label === undefined) return change;
    return { ...change, principal: label, example: { ...change.example, principal: label } };
  }
}
