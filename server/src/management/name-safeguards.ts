import { formatTimestamp } from '@signet/policy-engine/clock';
import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, servicePrincipal } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import {
  type DomainChange,
  listName,
  type MemberListChange,
  noDiff,
  unchanged,
  withLists,
} from '../model/domain-change.ts';
import type { ListKind } from '../model/records.ts';
import type { Membership, StoreReader, StoreTransaction } from '../model/store.ts';
import { formTaken } from '../store/name-rows.ts';
import { serverPrincipal } from '../x509/own-identity.ts';
import type { ChangeFault, ChangeRule, Sees } from './change-rule.ts';
import { lostGroups } from './safeguards.ts';

/* Rules about names: two domains with one form in DNS, names that are used again, and names that others still list. */

const dayMs = 86_400_000;

/** Minimum reservation: principal tokens live as long, and certificates by default. */
const leastReservedMs = 30 * dayMs;

/** Lives in seconds that a server may be configured to give. */
interface CredentialLives {
  readonly certificates: { readonly serviceMaxExpirySeconds: number; readonly roleMaxExpirySeconds: number };
  readonly ssh: { readonly hostExpirySeconds: number; readonly userExpirySeconds: number };
  readonly tokens: { readonly maxExpirySeconds: number };
}

/** Reservation time of a name: the longest life of a credential that this server issues or accepts. */
export function reservationOf({ certificates, ssh, tokens }: CredentialLives): number {
  const seconds = [
    certificates.serviceMaxExpirySeconds,
    certificates.roleMaxExpirySeconds,
    ssh.hostExpirySeconds,
    ssh.userExpirySeconds,
    tokens.maxExpirySeconds,
  ];
  return Math.max(leastReservedMs, ...seconds.map((life) => life * 1000));
}

/** Names that a change removes and others may have among their members: services, and groups with their full names. */
export function lostNames(change: Pick<DomainChange, 'name' | 'groups' | 'services'>): string[] {
  return [...lostServices(change), ...lostGroups(change)];
}

function lostServices({ name, services }: Pick<DomainChange, 'name' | 'services'>): string[] {
  return services.removed.map((service) => servicePrincipal(name, service.name));
}

/** The certificate of the server itself would be revoked with its service. */
export const serverService: ChangeRule = (change) => {
  if (!lostServices(change).includes(serverPrincipal)) return [];
  const error = new ConflictError(`service \`${serverPrincipal}\` is the token server itself and cannot be deleted`);
  return [{ error, path: ['services'] }];
};

/** Rejects a second domain with the same form in DNS. */
export const dnsForms: ChangeRule = async ({ name, before }, { reader, after }) => {
  if (before !== undefined) return [];
  const form = name.replaceAll('.', '-');
  const beside = after.created().find((other) => other < name && other.replaceAll('.', '-') === form);
  const holder = await reader.formHolder(name);
  const taken = holder?.deleted === false ? holder.domain : beside;
  return taken === undefined ? [] : [{ error: formTaken(name, taken), path: ['domain'] }];
};

/** Rejects names of which credentials may still be valid. */
export const reservedNames: ChangeRule = async (change, { reader, now, reuseName, reservedMs = leastReservedMs }) => {
  if (reuseName === true) return [];
  const paths = new Map<string, readonly string[]>();
  if (change.before === undefined) {
    paths.set(change.name, ['domain']);
    const holder = await reader.formHolder(change.name);
    if (holder !== undefined) paths.set(holder.domain, ['domain']);
  }
  for (const { name } of change.services.added) paths.set(servicePrincipal(change.name, name), ['services', name]);
  const ended = await reader.endedNames([...paths.keys()]);
  return ended
    .filter(({ endedAt }) => now < endedAt + reservedMs)
    .map(({ name, endedAt }) => {
      const text =
        `\`${name}\` was deleted at ${formatTimestamp(endedAt)}, and its name is reserved until ` +
        `${formatTimestamp(endedAt + reservedMs)}: an operator may use it before with reuseName=true (--reuse-name)`;
      return { error: new ConflictError(text), path: paths.get(name) ?? ['domain'] };
    });
};

/** Maximum of listed memberships; further ones are only counted. */
const maxListed = 20;

/** Services that are still members where they are removed. */
export const membershipsOfServices: ChangeRule = async (change, { after, removeMemberships, sees }) => {
  if (removeMemberships === true) return [];
  const faults: ChangeFault[] = [];
  for (const principal of lostServices(change)) {
    const left = await after.memberships([principal]);
    if (left.length === 0) continue;
    const error = new ConflictError(
      `service \`${principal}\` is a member of ${await listed(left, sees)}: remove it there, or with it by removeMemberships=true (--remove-memberships)`,
    );
    faults.push({ error, path: ['services'] });
  }
  return faults;
};

/** Memberships in words, for a refusal: those that the author may not look at are only counted. */
async function listed(memberships: readonly Membership[], sees: Sees): Promise<string> {
  const pause = pauseBetweenSlices();
  const seen: Membership[] = [];
  for (const membership of memberships) {
    const { domain, kind, list } = membership;
    if (sees(domain, `${kind}.${list}`)) seen.push(membership);
    await pause();
  }
  const names = seen.slice(0, maxListed).map(({ domain, kind, list }) => `\`${domain}:${kind}.${list}\``);
  const [more, hidden] = [seen.length - names.length, memberships.length - seen.length];
  return [
    ...names,
    ...(more === 0 ? [] : [`${more} more roles or groups`]),
    ...(hidden === 0
      ? []
      : [`${hidden} ${hidden === 1 ? 'role or group' : 'roles or groups'} that you may not look at`]),
  ].join(', ');
}

/** Warnings for the author of a change about the memberships of these names that are removed in other domains. */
export async function removalWarnings(
  reader: Pick<StoreReader, 'memberships'>,
  domain: DomainName,
  names: readonly string[],
  sees: Sees,
): Promise<{ readonly name: string; readonly text: string }[]> {
  const warnings: { name: string; text: string }[] = [];
  for (const name of names) {
    const elsewhere = (await reader.memberships([name])).filter((membership) => membership.domain !== domain);
    if (elsewhere.length > 0)
      warnings.push({ name, text: `\`${name}\` is taken out of ${await listed(elsewhere, sees)}` });
  }
  return warnings;
}

/** Refuses to delete a domain while roles or groups of others have services of it. Throws `ConflictError`. */
export async function checkUnused(
  reader: Pick<StoreReader, 'memberships'>,
  domain: DomainName,
  members: readonly string[],
  sees: Sees,
): Promise<void> {
  const used = (await reader.memberships(members)).filter((membership) => membership.domain !== domain);
  if (used.length === 0) return;
  throw new ConflictError(
    `services of \`${domain}\` are members of ${await listed(used, sees)}: removeMemberships=true (--remove-memberships) removes them`,
  );
}

/** The change with these names taken out of the roles and groups of its domain, but for those that it changes itself. */
export async function withoutMembers(
  reader: StoreReader,
  change: DomainChange,
  names: readonly string[],
): Promise<DomainChange> {
  const changed = new Set<string>([
    ...change.roles.map((role) => `role.${listName(role)}`),
    ...change.groups.map((group) => `group.${listName(group)}`),
  ]);
  const entries = Map.groupBy(await reader.entries(change.name, names), ({ list }) => `${list.kind}.${list.name}`);
  const lists: Record<ListKind, MemberListChange[]> = { role: [], group: [] };
  for (const [key, [first, ...others]] of entries) {
    if (first === undefined || changed.has(key)) continue;
    const fields = await reader.list(first.list);
    const removed = [first, ...others].map(({ member }) => member);
    lists[first.list.kind].push({ before: fields, after: fields, members: { ...noDiff, removed } });
  }
  return withLists(withLists(change, 'role', lists.role), 'group', lists.group);
}

/** Removes these names from all roles and groups, in every domain that has them, each with its audit record. */
export async function removeMemberships(transaction: StoreTransaction, names: readonly string[]): Promise<void> {
  const found = await transaction.memberships(names);
  for (const domain of new Set(found.map((membership) => membership.domain))) {
    const attributes = await transaction.attributes(domain);
    if (attributes !== undefined)
      await transaction.save(await withoutMembers(transaction, unchanged(attributes), names));
  }
}
