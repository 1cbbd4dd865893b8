import { formatTimestamp } from '@signet/policy-engine/clock';
import { type DomainChange, listName } from '../model/domain-change.ts';
import type { DomainContent, MemberRecord } from '../model/records.ts';

/* Members whose end is in the past: they have no access by it. Pure. */

interface ExpiredMember {
  readonly message: string;
  /** Path of its `expires`. */
  readonly path: readonly string[];
}

/**
 * The members that a change of a domain gives an end in the past. None of a domain that is new: it was exported or imported, with what had
 * expired there. `now`: milliseconds since the epoch.
 */
export function freshlyExpired({ before: known, roles, groups }: DomainChange, now: number): readonly ExpiredMember[] {
  if (known === undefined) return [];
  const lists = [
    ...roles.map((role) => ({ members: role.members, path: ['roles', listName(role)] })),
    ...groups.map((group) => ({ members: group.members, path: ['groups', listName(group)] })),
  ];
  return lists.flatMap(({ members: { added, changed }, path }) => {
    const ended = changed.flatMap(({ before, after }) => (before.expires === after.expires ? [] : [after]));
    return expired([...added, ...ended], path, now);
  });
}

/** All such members of a domain. */
export function expiredMembers({ roles, groups }: DomainContent, now: number): readonly ExpiredMember[] {
  return [
    ...roles.flatMap(({ name, members }) => expired(members, ['roles', name], now)),
    ...groups.flatMap(({ name, members }) => expired(members, ['groups', name], now)),
  ];
}

function expired(members: readonly MemberRecord[], list: readonly string[], now: number): ExpiredMember[] {
  return members.flatMap(({ name, expires }) => {
    if (expires === undefined || expires > now) return [];
    const message = `\`${name}\` expired on ${formatTimestamp(expires)}: give a later time, or remove the member`;
    return [{ message, path: [...list, 'members', name, 'expires'] }];
  });
}
