import { foldAscii, parsePrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import type { MemberRecord } from '../../store/records.ts';
import type { MemberShape } from './document-schema.ts';
import type { FieldReader } from './field-reader.ts';
import type { FieldPath } from './yaml-source.ts';

/** A prefix: the beginning of a `domain.service`, or of a domain. */
const prefixGrammar = /^[a-zA-Z0-9_][a-zA-Z0-9_.-]*\*$/;

/**
 * The members of a role or group, sorted by name. In a role: a principal `domain.service`, a group `domain:group.name`, everyone
 * `*`, or a prefix `media.*`, `media.play*`. In a group: principals only.
 */
export function readMembers(
  reader: FieldReader,
  path: FieldPath,
  members: readonly MemberShape[] | undefined,
  kind: 'role' | 'group',
): MemberRecord[] {
  const records = new Map<string, MemberRecord>();
  for (const [index, member] of (members ?? []).entries()) {
    const at = [...path, index];
    const shape = typeof member === 'string' ? { name: member } : member;
    const name = reader.read([...at, 'name'], () => memberName(shape.name, kind));
    const expires = reader.time([...at, 'expires'], shape.expires);
    const review = reader.time([...at, 'review'], shape.review);
    if (name === undefined) continue;
    if (records.has(name)) reader.complain([...at, 'name'], `\`${name}\` is there twice`);
    records.set(name, {
      name,
      ...(expires === undefined ? {} : { expires }),
      disabled: shape.disabled ?? false,
      ...(review === undefined ? {} : { review }),
    });
  }
  return [...records.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function memberName(text: string, kind: 'role' | 'group'): string {
  if (text.includes('*')) {
    if (kind === 'group') throw new InvalidRequestError('a group has no pattern members');
    if (text === '*' || (prefixGrammar.test(text) && text.length <= 256)) return foldAscii(text);
    throw new InvalidRequestError('a pattern is `*`, or a prefix such as `media.*`, with one `*` at its end');
  }
  if (text.includes(':') && kind === 'group') throw new InvalidRequestError('a group has no groups as members');
  if (!text.includes('.')) {
    throw new InvalidRequestError('a member is `domain.service`, `user.name` or `domain:group.name`');
  }
  return parsePrincipalName(text);
}
