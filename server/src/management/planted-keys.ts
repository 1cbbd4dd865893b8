import { type DomainName, type GroupName, servicePrincipal } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import { diffLists } from '../store/diff-domains.ts';
import type { MemberScope } from '../store/read-members.ts';
import type { DomainContent, MemberRecord, ServiceKeyRecord, ServiceRecord } from '../store/records.ts';
import type { DelegatedKey, MemberSearch, StoreReader } from '../store/store.ts';
import { powerIn } from './managers.ts';
import { noMembers } from './member-scope.ts';
import type { Sees } from './name-safeguards.ts';
import type { SafeguardFault } from './safeguard-fault.ts';

/** Where other domains are found, as the change leaves them. */
export interface PlantedKeysReader extends Pick<StoreReader, 'delegatedKeys' | 'domainsWithMember'> {
  excerpt(name: DomainName, scope: MemberScope): Promise<{ readonly content: DomainContent } | undefined>;
}

type Reader = PlantedKeysReader;

/** The domain after a change by somebody who is no administrator: keys that are new, or not what they were, are marked. */
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

/** A member that a change lets into a role or group, or that is in a role which gains authority by it. */
interface Entry {
  readonly kind: 'role' | 'group';
  readonly list: DomainContent['roles'][number]['name'] | GroupName;
  readonly member: string;
}

/**
 * Throws `ConflictError` for the first of `findPlantedKeys`. To be asked after it is known that the author may refer to the groups of other
 * domains that he names; of groups whose consent has ended he is not told who is in them.
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
export interface PlantedKeysOptions {
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
  const keyOf = ({ kind, list, member }: Entry) => `${kind} ${list} ${member}`;
  const known = new Set(joining.map(keyOf));
  const raised = (await raisedEntries(before, after, reader)).filter((entry) => !known.has(keyOf(entry)));
  const groups = [...joining, ...raised].filter(({ kind, member }) => kind === 'role' && member.includes(':'));
  const planted = await plantedBy(
    [...joining, ...raised].map(({ member }) => member),
    after,
    reader,
  );
  // Nearly always.
  if (planted.length + groups.length === 0) return [];
  const rules = await withRules(after, reader);
  const faults: SafeguardFault[] = [];
  for (const entry of [...joining, ...raised]) {
    const keys = await keysOf(entry, planted, after, reader);
    const [key] = keys;
    if (key === undefined || !(await givesAuthority(entry, rules, reader))) continue;
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
    const known = new Map(was.map(({ name, members }) => [name, members]));
    return is.flatMap(({ name: list, members }) => {
      const old = known.get(list) ?? [];
      const { added, changed } = diffLists(old, members, ({ name }) => name);
      return [...added, ...changed.map((change) => change.after)].map(
        ({ name }): Entry => ({ kind, list, member: name }),
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
  const stored = await reader.excerpt(after.name, { ...noMembers, roles });
  const wanted = new Set(roles);
  return (stored?.content.roles ?? [])
    .filter(({ name }) => wanted.has(name))
    .flatMap(({ name: list, members }) => members.map(({ name }): Entry => ({ kind: 'role', list, member: name })));
}

/** The domain with its policies, which a change of members may not have read. */
async function withRules(after: DomainContent, reader: Reader): Promise<DomainContent> {
  if (after.policies.length > 0) return after;
  const stored = await reader.excerpt(after.name, noMembers);
  return { ...after, policies: stored?.content.policies ?? [] };
}

/** The delegates' keys of whom an entry names. */
async function keysOf(
  { kind, member }: Entry,
  planted: readonly DelegatedKey[],
  after: DomainContent,
  reader: Reader,
): Promise<readonly DelegatedKey[]> {
  if (kind === 'role' && member.includes(':')) {
    return plantedBy(await groupMembers(member, after, reader), after, reader);
  }
  const covers = (name: string) => (member.endsWith('*') ? name.startsWith(member.slice(0, -1)) : name === member);
  return planted.filter(({ domain, service }) => covers(servicePrincipal(domain, service)));
}

/** The delegates' keys of these members, but for those that the change itself registers anew. */
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

async function groupMembers(full: string, after: DomainContent, reader: Reader): Promise<readonly string[]> {
  // Parsed with the member.
  const domain = full.slice(0, full.indexOf(':')) as DomainName;
  const group = full.slice(`${domain}:group.`.length) as GroupName;
  const stored = await reader.excerpt(domain, { ...noMembers, groups: [group], withoutRules: true });
  const sides = domain === after.name ? [stored?.content, after] : [stored?.content];
  return sides
    .flatMap((side) => side?.groups.find(({ name }) => name === group)?.members ?? [])
    .map(({ name }) => name);
}

function searchOf(members: readonly string[]): MemberSearch {
  const wildcards = members.filter((name) => name.endsWith('*'));
  return {
    names: members.filter((name) => !name.endsWith('*') && !name.includes(':')),
    prefixes: wildcards.map((name) => name.slice(0, -1)),
  };
}

/** Whether who is in the role or group has authority: through a group, in any domain. */
async function givesAuthority({ kind, list }: Entry, after: DomainContent, reader: Reader): Promise<boolean> {
  if (kind === 'role') return powerIn(after)(list as DomainContent['roles'][number]['name']);
  const group = `${after.name}:group.${list}`;
  if (isInPower(after, after, group)) return true;
  for (const name of await reader.domainsWithMember({ names: [group], prefixes: [] })) {
    const user = await reader.excerpt(name, { ...noMembers, names: [group] });
    if (user !== undefined && isInPower(user.content, name === after.name ? after : user.content, group)) return true;
  }
  return false;
}

function isInPower({ roles }: DomainContent, rules: DomainContent, member: string): boolean {
  const isPowerful = powerIn(rules);
  return roles.some(({ name, members }) => members.some((one) => one.name === member) && isPowerful(name));
}
