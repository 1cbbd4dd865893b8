import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type DomainName, type GroupName, servicePrincipal } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import type { DomainContent, MemberRecord, ServiceKeyRecord, ServiceRecord } from '../model/records.ts';
import type { DelegatedKey, DomainScope, MemberSearch, StoreReader } from '../model/store.ts';
import { diffLists } from '../store/diff-domains.ts';
import { groupBy } from '../store/row-values.ts';
import { powerIn } from './managers.ts';
import { attributes } from './member-scope.ts';
import type { Sees } from './name-safeguards.ts';
import type { SafeguardFault } from './safeguard-fault.ts';

/** Where other domains are found, as the change leaves them. */
export interface PlantedKeysReader extends Pick<StoreReader, 'delegatedKeys' | 'domainsWithMember'> {
  excerpt(name: DomainName, scope: DomainScope): Promise<{ readonly content: DomainContent } | undefined>;
}

type Reader = PlantedKeysReader;

/** The domain after a change by somebody who is not an administrator: keys that are new, or not what they were, are marked. */
export function withDelegatedKeys(before: DomainContent, after: DomainContent): DomainContent {
  const keysBefore = new Map(before.services.map(({ name, publicKeys }) => [name, publicKeys]));
  const services = after.services.map((service): ServiceRecord => {
    const known = new Map(keysBefore.get(service.name)?.map((key) => [key.id, key]));
    const publicKeys = service.publicKeys.map((key): ServiceKeyRecord => {
      const old = known.get(key.id);
      return old?.pem === key.pem ? old : { ...key, delegated: true };
    });
    return { ...service, publicKeys };
  });
  return { ...after, services };
}

/** Between two yields. */
const entriesAtOnce = 500;

/** A member that a change lets into a role or group, or that is in a role which gains authority by it. */
interface Entry {
  readonly kind: 'role' | 'group';
  readonly list: DomainContent['roles'][number]['name'] | GroupName;
  readonly member: string;
}

/**
 * Throws `ConflictError` for the first of `findPlantedKeys`. To be asked after it is known that the author may refer to the groups of other
 * domains that he names; of groups whose consent has expired he is not told who is in them.
 */
export async function checkPlantedKeys(
  before: DomainContent | undefined,
  after: DomainContent,
  reader: Reader,
  sees: Sees,
): Promise<void> {
  const [fault] = await findPlantedKeys(before, after, { reader, sees });
  if (fault !== undefined) throw fault.error;
}

/** Where the keys are found, and who is told of them. */
interface PlantedKeysOptions {
  readonly reader: Reader;
  /** Absent: the author may look at everything. */
  readonly sees?: Sees | undefined;
}

/**
 * Services to which a change gives authority although a delegate registered one of their public keys, and would hold that authority
 * from then on. Looks at the keys of those who join, and of all in a role that gains authority, in groups too.
 */
export async function findPlantedKeys(
  before: DomainContent | undefined,
  after: DomainContent,
  { reader, sees = () => true }: PlantedKeysOptions,
): Promise<SafeguardFault[]> {
  const joining = joiningEntries(before, after);
  await yieldToOthers();
  const keyOf = ({ kind, list, member }: Entry) => `${kind} ${list} ${member}`;
  const known = new Set(joining.map(keyOf));
  const raised = (await raisedEntries(before, after, reader)).filter((entry) => !known.has(keyOf(entry)));
  const entries = [...joining, ...raised];
  const keysOf = await plantedKeys(entries, after, reader);
  // Nearly always.
  if (keysOf === undefined) return [];
  const givesAuthority = authorityBy(await withAssertions(after, reader), reader);
  const faults: SafeguardFault[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % entriesAtOnce === 0) await yieldToOthers();
    const [key] = keysOf(entry);
    if (key === undefined || !(await givesAuthority(entry))) continue;
    faults.push(faultOf(entry, maySeeGroup(entry, after.name, sees) ? key : undefined));
  }
  return faults;
}

/** Whether the author may know who is in the group that an entry names. */
function maySeeGroup({ member }: Entry, own: DomainName, sees: Sees): boolean {
  const colon = member.indexOf(':');
  // Parsed with the member.
  const domain = member.slice(0, colon) as DomainName;
  return colon < 0 || domain === own || sees(domain, member.slice(colon + 1));
}

function faultOf({ kind, list, member }: Entry, key: DelegatedKey | undefined): SafeguardFault {
  const text =
    key === undefined
      ? `group \`${member}\` cannot gain authority while a service in it has the public key of a delegate: an administrator of its domain must register that key again, or delete it`
      : `service \`${servicePrincipal(key.domain, key.service)}\` cannot gain authority while it has the public key \`${key.keyId}\` of a delegate: an administrator of \`${key.domain}\` must register that key again, or delete it`;
  return { error: new ConflictError(text), path: [`${kind}s`, list, 'members', member] };
}

/** The entries that were not there before, or not so. */
function joiningEntries(before: DomainContent | undefined, after: DomainContent): Entry[] {
  const joining = <List extends { readonly name: Entry['list']; readonly members: readonly MemberRecord[] }>(
    kind: Entry['kind'],
    was: readonly List[],
    is: readonly List[],
  ) => {
    const known = new Map(was.map((list) => [list.name, list]));
    return is.flatMap((list) => {
      const old = known.get(list.name);
      if (old === list) return [];
      const { added, changed } = diffLists(old?.members ?? [], list.members, ({ name }) => name);
      return [...added, ...changed.map((change) => change.after)].map(
        ({ name }): Entry => ({ kind, list: list.name, member: name }),
      );
    });
  };
  return [
    ...joining('role', before?.roles ?? [], after.roles),
    ...joining('group', before?.groups ?? [], after.groups),
  ];
}

/** Everybody in the roles that have authority after the change and had none before. */
async function raisedEntries(
  before: DomainContent | undefined,
  after: DomainContent,
  reader: Reader,
): Promise<Entry[]> {
  if (before === undefined) return [];
  const [is, was] = [powerIn(after), powerIn(before, false)];
  const roles = after.roles.map(({ name }) => name).filter((name) => is(name) && !was(name));
  if (roles.length === 0) return [];
  const stored = await reader.excerpt(after.name, { ...attributes, roles });
  const wanted = new Set(roles);
  return (stored?.content.roles ?? [])
    .filter(({ name }) => wanted.has(name))
    .flatMap(({ name: list, members }) => members.map(({ name }): Entry => ({ kind: 'role', list, member: name })));
}

/** The domain with its policies, which a change of members may not have read. */
async function withAssertions(after: DomainContent, reader: Reader): Promise<DomainContent> {
  if (after.policies.length > 0) return after;
  const stored = await reader.excerpt(after.name, { ...attributes, policies: true });
  return { ...after, policies: stored?.content.policies ?? [] };
}

type KeysOf = (entry: Entry) => readonly DelegatedKey[];

/** Tells the delegates' keys of whom an entry names; undefined where nobody has any. Each group is read once, with the others of its domain. */
async function plantedKeys(
  entries: readonly Entry[],
  after: DomainContent,
  reader: Reader,
): Promise<KeysOf | undefined> {
  const isGroup = ({ kind, member }: Entry) => kind === 'role' && member.includes(':');
  const groups = await groupMembers(
    entries.filter(isGroup).map(({ member }) => member),
    after,
    reader,
  );
  const named = entries.filter((entry) => !isGroup(entry)).map(({ member }) => member);
  const planted = await plantedBy([...new Set([...named, ...[...groups.values()].flat()])], after, reader);
  if (planted.length === 0) return undefined;
  const principals = planted.map((key) => [servicePrincipal(key.domain, key.service), key] as const);
  const byPrincipal = new Map<string, readonly DelegatedKey[]>();
  for (const [name, key] of principals) byPrincipal.set(name, [...(byPrincipal.get(name) ?? []), key]);
  const keysOfMember = (member: string) =>
    member.endsWith('*')
      ? principals.filter(([name]) => name.startsWith(member.slice(0, -1))).map(([, key]) => key)
      : (byPrincipal.get(member) ?? []);
  return (entry) =>
    isGroup(entry) ? (groups.get(entry.member) ?? []).flatMap(keysOfMember) : keysOfMember(entry.member);
}

/** The delegates' keys of these members, but for those that the change itself registers again. */
async function plantedBy(
  members: readonly string[],
  { name, services }: DomainContent,
  reader: Reader,
): Promise<readonly DelegatedKey[]> {
  const isApproved = ({ domain, service, keyId }: DelegatedKey) =>
    domain === name &&
    services.some(
      (own) => own.name === service && own.publicKeys.some(({ id, delegated }) => id === keyId && delegated !== true),
    );
  return (await reader.delegatedKeys(searchOf(members))).filter((key) => !isApproved(key));
}

/** Who is in the groups of these full names, before the change and after it. */
async function groupMembers(
  names: readonly string[],
  after: DomainContent,
  reader: Reader,
): Promise<ReadonlyMap<string, readonly string[]>> {
  // Parsed with the member.
  const domainOf = (full: string) => full.slice(0, full.indexOf(':')) as DomainName;
  const found = new Map<string, string[]>();
  for (const [domain, ofDomain] of groupBy([...new Set(names)], domainOf)) {
    const groups = ofDomain.map((full) => full.slice(`${domain}:group.`.length) as GroupName);
    const wanted = new Set<string>(groups);
    const scope = { ...attributes, groups };
    const stored = await reader.excerpt(domainOf(`${domain}:`), scope);
    const sides = domain === after.name ? [stored?.content, after] : [stored?.content];
    for (const { name, members } of sides.flatMap((side) => side?.groups ?? [])) {
      if (!wanted.has(name)) continue;
      const full = `${domain}:group.${name}`;
      found.set(full, [...(found.get(full) ?? []), ...members.map((member) => member.name)]);
    }
  }
  return found;
}

function searchOf(members: readonly string[]): MemberSearch {
  const wildcards = members.filter((name) => name.endsWith('*'));
  return {
    names: members.filter((name) => !name.endsWith('*') && !name.includes(':')),
    prefixes: wildcards.map((name) => name.slice(0, -1)),
  };
}

/** Tells whether who is in the role or group of an entry has authority: through a group, in any domain. */
function authorityBy(after: DomainContent, reader: Reader): (entry: Entry) => Promise<boolean> {
  const isPowerful = powerIn(after);
  const known = new Map<string, Promise<boolean>>();
  const ofGroup = async (group: string) => {
    if (isInPower(after, isPowerful, group)) return true;
    for (const name of await reader.domainsWithMember({ names: [group], prefixes: [] })) {
      const user = await reader.excerpt(name, { ...attributes, names: [group], policies: true });
      if (user === undefined) continue;
      if (isInPower(user.content, name === after.name ? isPowerful : powerIn(user.content), group)) return true;
    }
    return false;
  };
  return async ({ kind, list }) => {
    if (kind === 'role') return isPowerful(list as DomainContent['roles'][number]['name']);
    const found = known.get(list) ?? ofGroup(`${after.name}:group.${list}`);
    known.set(list, found);
    return await found;
  };
}

function isInPower({ roles }: DomainContent, isPowerful: ReturnType<typeof powerIn>, member: string): boolean {
  return roles.some(({ name, members }) => members.some((one) => one.name === member) && isPowerful(name));
}
