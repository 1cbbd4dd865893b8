import { pauseBetweenSlices, yieldToOthers } from '@signet/policy-engine/internal/slices';
import { type DomainName, type GroupName, servicePrincipal } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import { type DomainChange, listName, type MemberListChange, written } from '../model/domain-change.ts';
import type { ListKey, ListKind, ServiceKeyRecord, ServiceRecord } from '../model/records.ts';
import type { DelegatedKey, MemberSearch } from '../model/store.ts';
import type { ChangeFacts, ChangeFault, ChangeRule, Sees } from './change-rule.ts';
import { changesAuthority, powerIn } from './managers.ts';
import type { StoreAfter } from './store-after.ts';

/** Change by an author who is not an administrator: new or changed keys are marked. */
export function withDelegatedKeys(change: DomainChange): DomainChange {
  const marked = (service: ServiceRecord, before?: ServiceRecord): ServiceRecord => {
    const known = new Map(before?.publicKeys.map((key) => [key.id, key]));
    const publicKeys = service.publicKeys.map((key): ServiceKeyRecord => {
      const old = known.get(key.id);
      return old?.pem === key.pem ? old : { ...key, delegated: true };
    });
    return { ...service, publicKeys };
  };
  const { removed, added, changed } = change.services;
  const services = {
    removed,
    added: added.map((service) => marked(service)),
    changed: changed.map(({ before, after }) => ({ before, after: marked(after, before) })),
  };
  return { ...change, services };
}

/** A member that a change lets into a role or group, or that is in a role which gains authority by it. */
interface Entry {
  readonly kind: 'role' | 'group';
  readonly list: ListKey['name'];
  readonly member: string;
}

/**
 * Services to which a change gives authority although a delegate registered one of their public keys, and would hold that authority
 * from then on. Looks at the keys of those who join, and of all in a role that gains authority, in groups too. To be asked after it is known
 * that the author may refer to the groups of other domains that he names; of groups whose consent has expired he is not told who is in them.
 */
export const plantedKeys: ChangeRule = async (change, facts) => {
  const { after, sees } = facts;
  const joining = joiningEntries(change);
  await yieldToOthers();
  const keyOf = ({ kind, list, member }: Entry) => `${kind} ${list} ${member}`;
  const known = new Set(joining.map(keyOf));
  const raised = (await raisedEntries(change, facts)).filter((entry) => !known.has(keyOf(entry)));
  const entries = [...joining, ...raised];
  const keyOfEntry = await keysOfDelegates(entries, after);
  // Common case.
  if (keyOfEntry === undefined) return [];
  const givesAuthority = authorityBy(change.name, after);
  const faults: ChangeFault[] = [];
  const pause = pauseBetweenSlices();
  for (const entry of entries) {
    await pause();
    const key = keyOfEntry(entry);
    if (key === undefined || !(await givesAuthority(entry))) continue;
    faults.push(faultOf(entry, maySeeGroup(entry, change.name, sees) ? key : undefined));
  }
  return faults;
};

/** True if the author may know the members of the group that an entry names. */
function maySeeGroup({ member }: Entry, own: DomainName, sees: Sees): boolean {
  const colon = member.indexOf(':');
  // Parsed with the member.
  const domain = member.slice(0, colon) as DomainName;
  return colon < 0 || domain === own || sees(domain, member.slice(colon + 1));
}

function faultOf({ kind, list, member }: Entry, key: DelegatedKey | undefined): ChangeFault {
  const text =
    key === undefined
      ? `group \`${member}\` cannot gain authority while a service in it has the public key of a delegate: an administrator of its domain must register that key again, or delete it`
      : `service \`${servicePrincipal(key.domain, key.service)}\` cannot gain authority while it has the public key \`${key.keyId}\` of a delegate: an administrator of \`${key.domain}\` must register that key again, or delete it`;
  return { error: new ConflictError(text), path: [`${kind}s`, list, 'members', member] };
}

/** The entries that were not there before, or not so. */
function joiningEntries({ roles, groups }: DomainChange): Entry[] {
  const joining = (kind: ListKind, changes: readonly MemberListChange[]) =>
    changes.flatMap((change) =>
      written(change.members).map(({ name }): Entry => ({ kind, list: listName(change), member: name })),
    );
  return [...joining('role', roles), ...joining('group', groups)];
}

/** Entries of the roles that have authority after the change and had none before. */
async function raisedEntries(
  { name: domain, before, policies }: DomainChange,
  { reader, after }: ChangeFacts,
): Promise<Entry[]> {
  if (before === undefined || !changesAuthority(policies)) return [];
  const is = powerIn(domain, await after.policies(domain));
  const was = powerIn(domain, await reader.policies(domain), false);
  const entries: Entry[] = [];
  for (const name of await after.listNames(domain, 'role')) {
    if (!is(name) || was(name)) continue;
    for await (const members of after.members({ kind: 'role', domain, name })) {
      for (const member of members) entries.push({ kind: 'role', list: name, member: member.name });
    }
  }
  return entries;
}

type KeyOf = (entry: Entry) => DelegatedKey | undefined;

/** Look-up of a delegate's key of the principals that an entry names; undefined if there are none. Each group is read, and searched, once. */
async function keysOfDelegates(entries: readonly Entry[], after: StoreAfter): Promise<KeyOf | undefined> {
  const isGroup = ({ kind, member }: Entry) => kind === 'role' && member.includes(':');
  const groups = new Map<string, readonly string[]>();
  for (const full of new Set(entries.filter(isGroup).map(({ member }) => member))) {
    groups.set(full, await membersOfGroup(full, after));
  }
  const named = entries.filter((entry) => !isGroup(entry)).map(({ member }) => member);
  const planted = await after.delegatedKeys(searchOf([...new Set([...named, ...[...groups.values()].flat()])]));
  if (planted.length === 0) return undefined;
  const keyOf = keyByMember(planted);
  const keysOfGroups = new Map<string, DelegatedKey | undefined>();
  const pause = pauseBetweenSlices();
  for (const [full, members] of groups) {
    const holder = members.find((member) => keyOf(member) !== undefined);
    keysOfGroups.set(full, holder === undefined ? undefined : keyOf(holder));
    await pause();
  }
  return (entry) => (isGroup(entry) ? keysOfGroups.get(entry.member) : keyOf(entry.member));
}

/** Look-up of the first key of the principals that a member names or covers: there may be thousands of either. */
function keyByMember(planted: readonly DelegatedKey[]): (member: string) => DelegatedKey | undefined {
  const keys = planted.map((key) => ({ principal: servicePrincipal(key.domain, key.service), key }));
  keys.sort((a, b) => (a.principal < b.principal ? -1 : a.principal > b.principal ? 1 : 0));
  return (member) => {
    const isPrefix = member.endsWith('*');
    const text = isPrefix ? member.slice(0, -1) : member;
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((keys[middle]?.principal ?? text) < text) low = middle + 1;
      else high = middle;
    }
    const first = keys[low];
    const fits = isPrefix ? first?.principal.startsWith(text) : first?.principal === text;
    return fits === true ? first?.key : undefined;
  };
}

async function membersOfGroup(full: string, after: StoreAfter): Promise<readonly string[]> {
  // Parsed with the member.
  const domain = full.slice(0, full.indexOf(':')) as DomainName;
  const name = full.slice(`${domain}:group.`.length) as GroupName;
  const found: string[] = [];
  for await (const members of after.members({ kind: 'group', domain, name })) {
    for (const member of members) found.push(member.name);
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
function authorityBy(own: DomainName, after: StoreAfter): (entry: Entry) => Promise<boolean> {
  const powers = new Map<DomainName, Promise<ReturnType<typeof powerIn>>>();
  const powerOf = (domain: DomainName) => {
    const power = powers.get(domain) ?? after.policies(domain).then((policies) => powerIn(domain, policies));
    powers.set(domain, power);
    return power;
  };
  const ofGroup = async (group: string) => {
    for (const domain of await after.domainsWithMember([group])) {
      const isPowerful = await powerOf(domain);
      const entries = await after.entries(domain, [group]);
      if (entries.some(({ list }) => list.kind === 'role' && isPowerful(list.name))) return true;
    }
    return false;
  };
  const known = new Map<string, Promise<boolean>>();
  return async ({ kind, list }) => {
    if (kind === 'role') return (await powerOf(own))(list);
    const found = known.get(list) ?? ofGroup(`${own}:group.${list}`);
    known.set(list, found);
    return await found;
  };
}
