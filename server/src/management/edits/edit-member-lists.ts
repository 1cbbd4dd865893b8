import {
  type DomainName,
  type GroupName,
  parseGroupName,
  parseRoleName,
  type RoleName,
} from '@signet/policy-engine/names';
import { ConflictError, NotFoundError } from '../../errors.ts';
import { shapeOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { DomainContent, DomainRecord, GroupRecord, MemberRecord, RoleRecord } from '../../model/records.ts';
import type { DomainScope } from '../../model/store.ts';
import { JsonList } from '../../steps/json-steps.ts';
import type { DomainEdit } from '../change-domain.ts';
import { groupSchema, memberFieldsSchema, roleSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readMembers } from '../documents/members.ts';
import { readGroup, readRole } from '../documents/parse-document.ts';
import { memberShape } from '../export-domain.ts';
import { attributes, ownGroups } from '../member-scope.ts';

/** A role or a group, by its name. */
export type MemberList =
  | { readonly kind: 'role'; readonly domain: DomainName; readonly name: RoleName }
  | { readonly kind: 'group'; readonly domain: DomainName; readonly name: GroupName };

/** From what stands in a path. Throws `InvalidNameError`. */
export function parseMemberList(kind: MemberList['kind'], domain: DomainName, name: unknown): MemberList {
  return kind === 'role'
    ? { kind, domain, name: parseRoleName(name, 'roleName') }
    : { kind, domain, name: parseGroupName(name, 'groupName') };
}

type ListRecord = RoleRecord | GroupRecord;

function find(content: DomainContent, list: MemberList): ListRecord | undefined {
  const lists: readonly ListRecord[] = list.kind === 'role' ? content.roles : content.groups;
  return lists.find(({ name }) => name === list.name);
}

function existing(content: DomainContent, list: MemberList): ListRecord {
  const found = find(content, list);
  if (found === undefined)
    throw new NotFoundError(`${list.kind} \`${list.domain}:${list.kind}.${list.name}\` does not exist`);
  return found;
}

/** The role or group as the API shows it; undefined when there is none. */
export function listView(content: DomainContent, list: MemberList): Record<string, unknown> | undefined {
  const found = find(content, list);
  if (found === undefined) return undefined;
  const { members } = found;
  const shape = shapeOf(list.kind === 'role' ? recordFields.role : recordFields.group, found);
  return { name: list.name, ...shape, ...(members.length > 0 && { members: new JsonList(members, memberShape) }) };
}

/** Throws `NotFoundError` when there is no such role or group. */
export function requireList(content: DomainContent, list: MemberList): void {
  existing(content, list);
}

/** Every member of the list; of a group also where it is a member itself. */
export function scopeOfList(list: MemberList): DomainScope {
  return list.kind === 'role'
    ? { ...attributes, roles: [list.name] }
    : { ...attributes, groups: [list.name], names: [fullGroupName(list)] };
}

/** The same with all roles and groups, and with the groups of the domain that become members of a role: who is in them counts from then on. */
function scopeOfPut(list: MemberList, { members }: ListRecord): DomainScope {
  const scope: DomainScope = { ...scopeOfList(list), lists: 'all' };
  const names = members.map(({ name }) => name);
  return list.kind === 'group' ? scope : { ...scope, groups: ownGroups(list.domain, names) };
}

/** The same with the policies, which may name a role that goes. */
function scopeOfDelete(list: MemberList): DomainScope {
  return { ...scopeOfList(list), lists: 'all', policies: true };
}

/** One member of the list, and of a group where it is a member itself; with the group of the domain that becomes a member. */
function scopeOfMember(list: MemberList, member: string): DomainScope {
  const { domain } = list;
  const named = ownGroups(domain, [member]).map((name): MemberList => ({ kind: 'group', domain, name }));
  const names = list.kind === 'role' ? [member] : [member, fullGroupName(list)];
  return { ...attributes, names, lists: [list, ...named] };
}

function fullGroupName({ domain, name }: MemberList): string {
  return `${domain}:group.${name}`;
}

function objectOf(list: MemberList): string {
  return `${list.kind}.${list.name}`;
}

function listEdit(list: MemberList, scope: DomainScope, apply: DomainEdit['apply']): DomainEdit {
  const view = (content: DomainContent) => listView(content, list);
  return { domain: list.domain, right: 'manage_domain', object: objectOf(list), scope, view, apply };
}

/** `PUT` of a role or group: what the body leaves out is removed, but members only when it names some. */
export function putList(list: MemberList, body: unknown): DomainEdit {
  const keepsMembers = typeof body !== 'object' || body === null || !('members' in body);
  const fresh = readList(list, body);
  return listEdit(list, scopeOfPut(list, fresh), (content) => {
    const kept = keepsMembers ? find(content, list)?.members : undefined;
    if ('trust' in fresh && (kept?.length ?? 0) > 0) {
      throw new ConflictError('a role that trusts another domain has no members of its own: give an empty list');
    }
    const record = kept === undefined ? fresh : { ...fresh, members: kept };
    return list.kind === 'role'
      ? { ...content, roles: replaced(content.roles, { ...record, name: list.name }) }
      : { ...content, groups: replaced(content.groups, { ...record, name: list.name }) };
  });
}

function readList(list: MemberList, body: unknown): ListRecord {
  return list.kind === 'role'
    ? parseBody(roleSchema, body).read((reader, value) =>
        readRole(reader, list.domain, { name: list.name, value, path: [] }),
      )
    : parseBody(groupSchema, body).read((reader, value) => readGroup(reader, { name: list.name, value, path: [] }));
}

export function deleteList(list: MemberList): DomainEdit {
  return listEdit(list, scopeOfDelete(list), (content) => {
    existing(content, list);
    return list.kind === 'role'
      ? { ...content, roles: content.roles.filter(({ name }) => name !== list.name) }
      : { ...content, groups: content.groups.filter(({ name }) => name !== list.name) };
  });
}

function withMembers(content: DomainRecord, list: MemberList, members: readonly MemberRecord[]): DomainContent {
  const sorted = [...members].sort((a, b) => (a.name < b.name ? -1 : 1));
  const change = <Item extends ListRecord>(items: readonly Item[]) =>
    items.map((item) => (item.name === list.name ? { ...item, members: sorted } : item));
  return list.kind === 'role'
    ? { ...content, roles: change(content.roles) }
    : { ...content, groups: change(content.groups) };
}

function memberView(content: DomainContent, list: MemberList, name: string): unknown {
  const found = find(content, list)?.members.find((member) => member.name === name);
  if (found === undefined) return undefined;
  return { name, ...shapeOf(recordFields.member, found) };
}

function memberEdit(list: MemberList, name: string, apply: DomainEdit['apply']): DomainEdit {
  const view = (content: DomainContent) => memberView(content, list, name);
  const scope = scopeOfMember(list, name);
  return { domain: list.domain, right: 'manage_members', object: objectOf(list), scope, view, apply };
}

/** `PUT` of a member: its end, review date and whether it counts now. */
export function putMember(list: MemberList, member: string, body: unknown): DomainEdit {
  const [record] = parseBody(memberFieldsSchema, body).read((reader, shape) => {
    return readMembers(reader, ['members'], [{ ...shape, name: member }], list.kind);
  });
  const name = record?.name ?? member;
  return memberEdit(list, name, (content) => {
    const found = existing(content, list);
    if ('trust' in found) throw new ConflictError('a role that trusts another domain has no members of its own');
    const others = found.members.filter((other) => other.name !== name);
    return withMembers(content, list, record === undefined ? others : [...others, record]);
  });
}

export function deleteMember(list: MemberList, member: string): DomainEdit {
  const name = member.toLowerCase();
  return memberEdit(list, name, (content) => {
    const { members } = existing(content, list);
    if (!members.some((one) => one.name === name)) {
      throw new NotFoundError(`\`${name}\` is not a member of ${list.kind} \`${list.domain}:${objectOf(list)}\``);
    }
    return withMembers(
      content,
      list,
      members.filter((one) => one.name !== name),
    );
  });
}

function replaced<Item extends { readonly name: string }>(items: readonly Item[], item: Item): Item[] {
  return [...items.filter(({ name }) => name !== item.name), item].sort((a, b) => (a.name < b.name ? -1 : 1));
}
