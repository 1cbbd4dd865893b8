import { foldAscii, parsePrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { defaultsOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { MemberRecord } from '../../model/records.ts';
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
  let index = 0;
  for (const member of members ?? []) {
    const record = readMember(reader, { path, index }, member, kind);
    index += 1;
    if (record === undefined) continue;
    const { size } = records;
    records.set(record.name, record);
    if (records.size === size) reader.complain([...path, index - 1, 'name'], `\`${record.name}\` is there twice`);
  }
  // A list with problems is refused: a hundred thousand members need not be sorted for it.
  if (reader.problems.length > 0) return [];
  return [...records.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function readMember(
  reader: FieldReader,
  { path, index }: { readonly path: FieldPath; readonly index: number },
  member: MemberShape,
  kind: 'role' | 'group',
): MemberRecord | undefined {
  const text = typeof member === 'string' ? member : member.name;
  // A malformed name is read again for its problem: a hundred thousand valid ones are read at little cost.
  const name =
    rightName(text, kind) ??
    reader.read(
      () => [...path, index, 'name'],
      () => memberName(text, kind),
    );
  if (typeof member === 'string') return name === undefined ? undefined : { ...plainMember, name };
  const fields = reader.fields([...path, index], recordFields.member, member);
  return name === undefined ? undefined : { name, ...fields };
}

const plainMember = { name: '', ...defaultsOf(recordFields.member) };

function rightName(text: string, kind: 'role' | 'group'): string | undefined {
  try {
    return memberName(text, kind);
  } catch {
    return undefined;
  }
}

/** Longest prefix of names that may be a member. */
const maxPrefixLength = 256;

function memberName(text: string, kind: 'role' | 'group'): string {
  if (text.includes('*')) {
    if (kind === 'group') throw new InvalidRequestError('a group has no pattern members');
    if (text === '*' || (prefixGrammar.test(text) && text.length <= maxPrefixLength)) return foldAscii(text);
    throw new InvalidRequestError('a pattern is `*`, or a prefix such as `media.*`, with one `*` at its end');
  }
  if (text.includes(':') && kind === 'group') throw new InvalidRequestError('a group has no groups as members');
  if (!text.includes('.')) {
    throw new InvalidRequestError('a member is `domain.service`, `user.name` or `domain:group.name`');
  }
  return parsePrincipalName(text);
}
