import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError, ForbiddenError } from '../errors.ts';
import { type DomainChange, listName } from '../model/domain-change.ts';
import type { MemberRecord } from '../model/records.ts';
import type { ChangeFault, Sees } from './change-rule.ts';

/* New references of a change. Pure. */

interface NewMember {
  readonly member: MemberRecord;
  readonly path: readonly string[];
}

/** The members of roles that were not there before. */
export function newMembers({ roles }: Pick<DomainChange, 'roles'>): NewMember[] {
  return roles.flatMap((role) =>
    role.members.added.map((member) => ({ member, path: ['roles', listName(role), 'members', member.name] })),
  );
}

/** A trusted domain, or a group that is a member. */
interface Reference {
  readonly domain: DomainName;
  /** `domain:group.name`. */
  readonly group?: string;
  readonly path: readonly string[];
}

/** The references of a change that were not there before. */
export function newReferences(change: Pick<DomainChange, 'roles'>): Reference[] {
  const trusts = change.roles.flatMap(({ before, after }): Reference[] =>
    after?.trust === undefined || before?.trust === after.trust
      ? []
      : [{ domain: after.trust, path: ['roles', after.name, 'trust'] }],
  );
  const groups = newMembers(change).flatMap(({ member, path }): Reference[] => {
    const colon = member.name.indexOf(':');
    // Parsed with the member.
    return colon < 0 ? [] : [{ domain: member.name.slice(0, colon) as DomainName, group: member.name, path }];
  });
  return [...trusts, ...groups];
}

/** The full names of the groups of a domain; undefined where there is no such domain. */
export type GroupNames = ReadonlySet<string> | undefined;

export function groupNames(domain: DomainName, groups: readonly string[]): ReadonlySet<string> {
  return new Set(groups.map((name) => `${domain}:group.${name}`));
}

/** Fault of a reference into a domain with these groups. */
export function faultOf({ domain, group, path }: Reference, groups: GroupNames): ChangeFault | undefined {
  if (group === undefined) {
    return groups === undefined ? { error: new ConflictError(`domain \`${domain}\` does not exist`), path } : undefined;
  }
  if (groups?.has(group) === true) return undefined;
  return { error: new ConflictError(`group \`${group}\` does not exist`), path };
}

/**
 * Requires the right to look at a group of another domain that becomes a member: its members could then be found by asking about the role.
 * Checked before any answer shows whether the group exists. A trusted domain consents by its own assertion for `assume_role`.
 */
export function consentFault({ domain, group, path }: Reference, own: DomainName, sees: Sees): ChangeFault | undefined {
  if (group === undefined || domain === own || sees(domain, group.slice(domain.length + 1))) return undefined;
  const text = `caller may not look at \`${group}\`: its domain must give \`view_domain\` on it`;
  return { error: new ForbiddenError(text), path };
}
