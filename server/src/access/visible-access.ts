import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import type { Viewer } from '../impact/fold.ts';
import { reachedFrom } from '../impact/impact.ts';
import type { ExplainedRole, Explaining, RolePath } from '../roles/explain-roles.ts';
import { coveringEntries, type DomainMembers, type Entry } from '../snapshot/domain-members.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import { resourceDomain } from './check-access.ts';
import { type AccessExplanation, type AccessQuestion, explainAccessInSteps } from './explain-access.ts';

/** Explanation as far as its reader may know. */
interface VisibleExplanation extends AccessExplanation {
  /**
   * Number of lists that were left out as the reader may not look at them: roles of the domain, and groups and trusted domains behind its other
   * roles, whoever is in them. Absent if there are none: then the decision is that of an access check.
   */
  readonly hidden?: number;
}

/**
 * Explanation to the principal itself: its decision and the roles that it holds, as its tokens tell, with the ways into them that it may look
 * at; roles that it does not hold only where it may look at them.
 */
export function* explainToItself(
  snapshot: Snapshot,
  query: AccessQuestion,
  { sees }: Viewer,
  explaining: Explaining,
): Steps<AccessExplanation> {
  const explained = yield* explainAccessInSteps(snapshot, query, explaining);
  const domain = resourceDomain(query.resource);
  const roles: ExplainedRole[] = [];
  for (const role of explained.roles) {
    yield;
    const isSeen = sees(domain, `role.${role.role}`);
    const paths = isSeen ? role.paths.filter((path) => seesPath(sees, path)) : [];
    // INVARIANT: an entry that gives nothing is told only to those who may look at the list, also to the member.
    if (role.held || paths.length > 0) roles.push({ ...role, paths });
  }
  return { ...explained, roles };
}

/**
 * Explanation of another principal. INVARIANT: it is found in a snapshot without the entries of lists that the reader may not look at, so that
 * nothing in it, the decision included, depends on who is in them; `hidden` counts lists, not memberships.
 */
export function* explainToViewer(
  snapshot: Snapshot,
  query: AccessQuestion,
  viewer: Viewer,
  explaining: Explaining,
): Steps<VisibleExplanation> {
  const domain = existingDomain(snapshot, resourceDomain(query.resource));
  const members = new Map(snapshot.members);
  for (const name of new Set([domain.name, ...reachedFrom(snapshot, domain.name)])) {
    const all = snapshot.members.get(name);
    if (all !== undefined && !viewer.seesAll(name)) {
      members.set(name, yield* visibleEntries(snapshot, { name, members: all }, query.principal, viewer));
    }
  }
  const explained = yield* explainAccessInSteps({ ...snapshot, members }, query, explaining);
  const hidden = yield* countHidden(snapshot, domain, viewer);
  return { ...explained, ...(hidden > 0 && { hidden }) };
}

/** True if the reader may know what a path tells of another domain: the members of its group, or of its role. */
export function seesPath(sees: Viewer['sees'], path: RolePath): boolean {
  if (path.kind === 'delegated') return sees(path.domain, `role.${path.from}`);
  return path.kind !== 'group' || seesGroup(sees, path.group);
}

function seesGroup(sees: Viewer['sees'], group: string): boolean {
  const colon = group.indexOf(':');
  return sees(group.slice(0, colon) as DomainName, group.slice(colon + 1));
}

interface NamedMembers {
  readonly name: DomainName;
  readonly members: DomainMembers;
}

/** The entries of a domain that concern the principal, in the roles and groups that the viewer may look at. */
function* visibleEntries(
  snapshot: Snapshot,
  { name, members }: NamedMembers,
  principal: PrincipalName,
  { sees }: Viewer,
): Steps<DomainMembers> {
  const inRoles = function* <Listed extends Entry>(entries: readonly Listed[] = []): Steps<Listed[]> {
    const kept: Listed[] = [];
    for (const entry of entries) {
      yield;
      if (sees(name, `role.${entry.list}`)) kept.push(entry);
    }
    return kept;
  };
  const names = new Map([[principal, yield* inRoles(members.names.get(principal))]]);
  const prefixes = new Map<
    string,
    DomainMembers['prefixes'] extends ReadonlyMap<string, infer Roles> ? Roles : never
  >();
  for (const { entry, roles } of coveringEntries(members, principal)) {
    if (entry.endsWith('*')) prefixes.set(entry.slice(0, -1), yield* inRoles(roles));
  }
  const groups = new Map<string, DomainMembers['groups'] extends ReadonlyMap<string, infer Roles> ? Roles : never>();
  for (const owner of members.groupDomains) {
    for (const { list } of snapshot.members.get(owner)?.groupMembers.get(principal) ?? []) {
      groups.set(list, yield* inRoles(members.groups.get(list)));
    }
  }
  const own = (members.groupMembers.get(principal) ?? []).filter(({ list }) => seesGroup(sees, list));
  return { ...members, names, prefixes, groups, groupMembers: new Map([[principal, own]]) };
}

/** Lists on which the decision may depend and that the viewer may not look at. */
function* countHidden(snapshot: Snapshot, domain: DomainSnapshot, { seesAll, sees }: Viewer): Steps<number> {
  const trusted = [...domain.trusting.keys()];
  let hidden = 0;
  for (const name of domain.roles.keys()) {
    yield;
    if (!seesAll(domain.name) && !sees(domain.name, `role.${name}`)) hidden += 1;
  }
  const behind = new Set<string>();
  for (const name of [domain.name, ...trusted]) {
    // Of a trusted domain that is not visible as a whole nothing is told but itself.
    if (name !== domain.name && !seesAll(name)) {
      hidden += 1;
      continue;
    }
    for (const [group, roles] of snapshot.members.get(name)?.groups ?? []) {
      yield;
      const isListed = roles.some(({ list }) => seesAll(name) || sees(name, `role.${list}`));
      if (isListed && !seesGroup(sees, group)) behind.add(group);
    }
  }
  return hidden + behind.size;
}
