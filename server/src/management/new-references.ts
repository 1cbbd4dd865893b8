import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import type { DomainContent, MemberRecord } from '../model/records.ts';
import type { SafeguardFault } from './safeguard-fault.ts';

/* What a change refers to that was not there before. Pure. */

interface NewMember {
  readonly member: MemberRecord;
  readonly path: readonly string[];
}

/** The members of roles that were not there before. */
export function newMembers(before: DomainContent | undefined, after: DomainContent): NewMember[] {
  const rolesBefore = new Map(before?.roles.map((role) => [role.name, role]));
  return after.roles.flatMap((role) => {
    const old = rolesBefore.get(role.name);
    // Most changes leave most roles as they were read.
    if (old === role) return [];
    const known = new Set(old?.members.map(({ name }) => name));
    return role.members
      .filter(({ name }) => !known.has(name))
      .map((member) => ({ member, path: ['roles', role.name, 'members', member.name] }));
  });
}

/** The full names of the groups of a domain. */
export type GroupNames = ReadonlySet<string>;

/** Of a domain that exists. */
export function groupNames(domain: Pick<DomainContent, 'name' | 'groups'>): GroupNames;
export function groupNames(domain: Pick<DomainContent, 'name' | 'groups'> | undefined): GroupNames | undefined;
export function groupNames(domain: Pick<DomainContent, 'name' | 'groups'> | undefined): GroupNames | undefined {
  return domain && new Set(domain.groups.map((group) => `${domain.name}:group.${group.name}`));
}

/** A trusted domain, or a group that is a member. */
export interface Reference {
  readonly domain: DomainName;
  /** `domain:group.name`. */
  readonly group?: string;
  readonly path: readonly string[];
}

/** The references of a change that were not there before. */
export function newReferences(before: DomainContent | undefined, after: DomainContent): Reference[] {
  const trusted = new Map(before?.roles.map(({ name, trust }) => [name, trust]));
  const trusts = after.roles.flatMap(({ name, trust }): Reference[] =>
    trust === undefined || trusted.get(name) === trust ? [] : [{ domain: trust, path: ['roles', name, 'trust'] }],
  );
  const groups = newMembers(before, after).flatMap(({ member, path }): Reference[] => {
    const colon = member.name.indexOf(':');
    // Parsed with the member.
    return colon < 0 ? [] : [{ domain: member.name.slice(0, colon) as DomainName, group: member.name, path }];
  });
  return [...trusts, ...groups];
}

/** What is wrong with a reference into a domain with these groups, or one that does not exist. */
export function faultOf(
  { domain, group, path }: Reference,
  groups: GroupNames | undefined,
): SafeguardFault | undefined {
  if (group === undefined) {
    return groups === undefined ? { error: new ConflictError(`domain \`${domain}\` does not exist`), path } : undefined;
  }
  if (groups?.has(group) === true) return undefined;
  return { error: new ConflictError(`group \`${group}\` does not exist`), path };
}
