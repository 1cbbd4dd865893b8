import type { DocumentProblem } from '../../errors.ts';
import type { RoleRecord } from '../../model/records.ts';
import { isTooLargeForToken } from '../../oauth/token-size.ts';
import type { DomainDocument } from './parse-document.ts';
import { placeOf } from './places.ts';

/**
 * Warnings about principals of a document that hold so many of its roles that a token for all of them is refused. Direct members count, with
 * those of `*`; the first principal is named. `now`: milliseconds since the epoch. Pure.
 */
export function tokenSizeWarnings({ source, content }: DomainDocument, now: number): readonly DocumentProblem[] {
  if (!isTooLargeForToken(content.roles.map(({ name }) => name))) return [];
  const held = rolesByMember(content.roles, now);
  const everybody = held.get('*') ?? [];
  const large = [...held].filter(([member, roles]) =>
    isTooLargeForToken(member === '*' ? roles : new Set([...roles, ...everybody])),
  );
  const [first, ...others] = large;
  if (first === undefined) return [];
  const [member, roles] = first;
  const more = others.length === 0 ? '' : `, and so do ${others.length} other members`;
  const message = `\`${member}\` holds ${roles.length} roles${more}: an access token for all roles of the domain is refused, as services accept none that large; have clients name the roles that they need, or split the domain`;
  return [source.problem(placeOf(source.value, ['roles']), message, 'key')];
}

function rolesByMember(roles: readonly RoleRecord[], now: number): Map<string, string[]> {
  const held = new Map<string, string[]>();
  for (const { name, members } of roles) {
    for (const member of members) {
      if (member.disabled || (member.expires !== undefined && member.expires <= now)) continue;
      const of = held.get(member.name);
      if (of === undefined) held.set(member.name, [name]);
      else of.push(name);
    }
  }
  return held;
}
