import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, parseGroupName, parseRoleName } from '@signet/policy-engine/names';
import { ConflictError, NotFoundError } from '../../errors.ts';
import { type ListDiff, type MemberListChange, noDiff, unchanged, withList } from '../../model/domain-change.ts';
import { shapeOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import {
  fullNameOf,
  type GroupFields,
  type GroupRecord,
  type ListKey,
  type MemberRecord,
  type RoleFields,
  type RoleRecord,
} from '../../model/records.ts';
import type { StoreReader } from '../../model/store.ts';
import { JsonList } from '../../steps/json-steps.ts';
import { diffLists, diffMembersInSteps } from '../../store/diff-domains.ts';
import { groupSchema, memberFieldsSchema, roleSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readMembers } from '../documents/members.ts';
import { readGroup, readRole } from '../documents/parse-document.ts';
import { memberShape } from '../export-domain.ts';
import type { DomainEdit } from '../judge-edit.ts';
import { StoreAfter } from '../store-after.ts';

/** A role or a group, by its name. */
export type MemberList = ListKey<'role'> | ListKey<'group'>;

type List = RoleFields | GroupFields;

/** Parses names in a path. Throws `InvalidNameError`. */
export function parseMemberList(kind: MemberList['kind'], domain: DomainName, name: unknown): MemberList {
  return kind === 'role'
    ? { kind, domain, name: parseRoleName(name, 'roleName') }
    : { kind, domain, name: parseGroupName(name, 'groupName') };
}

/** Throws `NotFoundError` when there is no such role or group. */
export async function requireList(reader: StoreReader, list: MemberList): Promise<List> {
  return existing(await reader.list(list), list);
}

function existing(found: List | undefined, list: MemberList): List {
  if (found === undefined) throw new NotFoundError(`${list.kind} \`${fullNameOf(list)}\` does not exist`);
  return found;
}

/** The role or group as the API shows it, without its members. */
export function listFields({ kind, name }: MemberList, found: List): Record<string, unknown> {
  return { name, ...shapeOf(kind === 'role' ? recordFields.role : recordFields.group, found) };
}

/** The same with its members. */
function listView(list: MemberList, found: List, members: readonly MemberRecord[]): Record<string, unknown> {
  return { ...listFields(list, found), ...(members.length > 0 && { members: new JsonList(members, memberShape) }) };
}

/** A role or group with all of its members. */
interface Stored {
  readonly before: List | undefined;
  readonly members: readonly MemberRecord[];
}

async function readStored(reader: StoreReader, list: MemberList): Promise<Stored> {
  const before: List | undefined = await reader.list(list);
  const pages = before === undefined ? [] : await Array.fromAsync(new StoreAfter(reader, []).members(list));
  return { before, members: pages.flat() };
}

function listEdit(
  list: MemberList,
  change: (stored: Stored) => MemberListChange | Promise<MemberListChange>,
): DomainEdit {
  return {
    domain: list.domain,
    right: 'manage_domain',
    object: objectOf(list),
    read: async (reader, attributes) => {
      const stored = await readStored(reader, list);
      const { before, members } = stored;
      return {
        view: before && listView(list, before, members),
        change: async () => withList(unchanged(attributes), list.kind, await change(stored)),
      };
    },
  };
}

function objectOf(list: MemberList): string {
  return `${list.kind}.${list.name}`;
}

/** `PUT` of a role or group: what the body leaves out is removed, but members only when it names some. */
export function putList(list: MemberList, body: unknown): DomainEdit {
  const keepsMembers = typeof body !== 'object' || body === null || !('members' in body);
  const { members: wanted, ...fields } = readList(list, body);
  return listEdit(list, async ({ before, members }) => {
    const kept = keepsMembers ? members : wanted;
    if ('trust' in fields && kept.length > 0) {
      throw new ConflictError('a role that trusts another domain has no members of its own: give an empty list');
    }
    return { before, after: fields, members: await runInSlices(diffMembersInSteps(members, kept)) };
  });
}

function readList(list: MemberList, body: unknown): RoleRecord | GroupRecord {
  return list.kind === 'role'
    ? parseBody(roleSchema, body).read((reader, value) =>
        readRole(reader, list.domain, { name: list.name, value, path: [] }),
      )
    : parseBody(groupSchema, body).read((reader, value) => readGroup(reader, { name: list.name, value, path: [] }));
}

export function deleteList(list: MemberList): DomainEdit {
  return listEdit(list, ({ before, members }) => {
    return { before: existing(before, list), after: undefined, members: { ...noDiff, removed: members } };
  });
}

function memberView(member: MemberRecord): unknown {
  return { name: member.name, ...shapeOf(recordFields.member, member) };
}

type MemberDiff = (found: List, member: MemberRecord | undefined) => ListDiff<MemberRecord>;

function memberEdit(list: MemberList, name: string, diff: MemberDiff): DomainEdit {
  return {
    domain: list.domain,
    right: 'manage_members',
    object: objectOf(list),
    read: async (reader, attributes) => {
      const found: List | undefined = await reader.list(list);
      const entries = await reader.entries(list.domain, [name]);
      const member = entries.find((entry) => entry.list.kind === list.kind && entry.list.name === list.name)?.member;
      const change = () => {
        const before = existing(found, list);
        return withList(unchanged(attributes), list.kind, { before, after: before, members: diff(before, member) });
      };
      return { view: member && memberView(member), change };
    },
  };
}

/** `PUT` of a member: its expiry, review date and state. */
export function putMember(list: MemberList, member: string, body: unknown): DomainEdit {
  const [record] = parseBody(memberFieldsSchema, body).read((reader, shape) => {
    return readMembers(reader, ['members'], [{ ...shape, name: member }], list.kind);
  });
  if (record === undefined) throw new Error('the member was not read');
  return memberEdit(list, record.name, (found, stored) => {
    if ('trust' in found) throw new ConflictError('a role that trusts another domain has no members of its own');
    return diffLists(stored === undefined ? [] : [stored], [record], ({ name }) => name);
  });
}

export function deleteMember(list: MemberList, member: string): DomainEdit {
  const name = member.toLowerCase();
  return memberEdit(list, name, (_, stored) => {
    if (stored !== undefined) return { ...noDiff, removed: [stored] };
    throw new NotFoundError(`\`${name}\` is not a member of ${list.kind} \`${fullNameOf(list)}\``);
  });
}
