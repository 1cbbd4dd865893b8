import { formatTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, servicePrincipal } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import type { DomainContent } from '../model/records.ts';
import type { Membership, StoreReader, StoreTransaction } from '../model/store.ts';
import { formTaken } from '../store/names.ts';
import { serverPrincipal } from '../x509/own-identity.ts';
import { attributes } from './member-scope.ts';
import type { SafeguardFault } from './safeguard-fault.ts';

/* What a change does to names: two domains with one form in DNS, names that come back, and names that others go on to list. */

/** Whether the author of a change may look at a role, a group or the whole (`domain`) of a domain. */
export type Sees = (domain: DomainName, object: string) => boolean;

/** How a change treats names; only who is asked for both may do them. */
export interface NameRules {
  /** Whether a deletion takes the memberships of what is deleted with it, in every domain; else it is refused while there are some. */
  readonly removeMemberships?: boolean | undefined;
  /** Whether a name may be used although credentials of whoever had it before may still be out there. */
  readonly reuseName?: boolean | undefined;
  /** The longest life of a credential, for which a name stays reserved. */
  readonly reservedMs?: number | undefined;
}

export interface NameOptions extends NameRules {
  readonly now: number;
  readonly reader: Pick<StoreReader, 'formHolder' | 'endedNames' | 'memberships'>;
  /** Absent: the author may look at everything. */
  readonly sees?: Sees | undefined;
  /** Other domains as the same change leaves them. */
  readonly others?: ReadonlyMap<DomainName, DomainContent> | undefined;
}

const dayMs = 86_400_000;

/** At the least: principal tokens live as long, and certificates by default. */
const leastReservedMs = 30 * dayMs;

/** Lives in seconds that a server may be configured to give. */
interface CredentialLives {
  readonly certificates: { readonly serviceMaxExpirySeconds: number; readonly roleMaxExpirySeconds: number };
  readonly ssh: { readonly hostExpirySeconds: number; readonly userExpirySeconds: number };
  readonly tokens: { readonly maxExpirySeconds: number };
}

/** How long a name stays reserved: the longest life of a credential that this server gives or takes. */
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

type Before = Pick<DomainContent, 'services' | 'groups'> | undefined;

/** Names that others may have among their members and that a change removes: services, and groups with their full names. */
export function lostNames(before: Before, after: Pick<DomainContent, 'name' | 'services' | 'groups'>): string[] {
  const lost = <Item extends { readonly name: string }>(was: readonly Item[], is: readonly Item[]) => {
    const left = new Set(is.map(({ name }) => name));
    return was.filter(({ name }) => !left.has(name));
  };
  return [
    ...lost(before?.services ?? [], after.services).map(({ name }) => servicePrincipal(after.name, name)),
    ...lost(before?.groups ?? [], after.groups).map(({ name }) => `${after.name}:group.${name}`),
  ];
}

/** What is wrong with the names of a change. */
export async function findNameFaults(
  before: Before,
  after: DomainContent,
  options: NameOptions,
): Promise<SafeguardFault[]> {
  return [
    ...(before === undefined ? await formFaults(after.name, options) : []),
    ...(await reservedFaults(before, after, options)),
    ...serverFaults(before, after),
    ...(await memberFaults(before, after, options)),
  ];
}

/** The certificate of the server itself would be revoked with its service. */
function serverFaults(before: Before, after: DomainContent): SafeguardFault[] {
  if (!lostNames(before, after).includes(serverPrincipal)) return [];
  const error = new ConflictError(`service \`${serverPrincipal}\` is the token server itself and cannot be deleted`);
  return [{ error, path: ['services'] }];
}

async function formFaults(name: DomainName, { reader, others }: NameOptions): Promise<SafeguardFault[]> {
  const form = name.replaceAll('.', '-');
  const beside = [...(others?.keys() ?? [])].find((other) => other < name && other.replaceAll('.', '-') === form);
  const holder = await reader.formHolder(name);
  const taken = holder?.deleted === false ? holder.domain : beside;
  return taken === undefined ? [] : [{ error: formTaken(name, taken), path: ['domain'] }];
}

async function reservedFaults(
  before: Before,
  after: DomainContent,
  { reader, now, reuseName, reservedMs = leastReservedMs }: NameOptions,
): Promise<SafeguardFault[]> {
  if (reuseName === true) return [];
  const known = new Set(before?.services.map(({ name }) => name));
  const paths = new Map<string, readonly string[]>();
  if (before === undefined) {
    paths.set(after.name, ['domain']);
    const holder = await reader.formHolder(after.name);
    if (holder !== undefined) paths.set(holder.domain, ['domain']);
  }
  for (const { name } of after.services) {
    if (!known.has(name)) paths.set(servicePrincipal(after.name, name), ['services', name]);
  }
  const ended = await reader.endedNames([...paths.keys()]);
  return ended
    .filter(({ endedAt }) => now < endedAt + reservedMs)
    .map(({ name, endedAt }) => {
      const text =
        `\`${name}\` was deleted at ${formatTimestamp(endedAt)}, and its name is reserved until ` +
        `${formatTimestamp(endedAt + reservedMs)}: an operator may use it before with reuseName=true (--reuse-name)`;
      return { error: new ConflictError(text), path: paths.get(name) ?? ['domain'] };
    });
}

/** More memberships than this are only counted. */
const maxListed = 20;

async function memberFaults(
  before: Before,
  after: DomainContent,
  { reader, removeMemberships, others, sees }: NameOptions,
): Promise<SafeguardFault[]> {
  if (removeMemberships === true) return [];
  const services = new Set(after.services.map(({ name }) => name));
  const lost = (before?.services ?? []).filter(({ name }) => !services.has(name));
  const faults: SafeguardFault[] = [];
  for (const { name } of lost) {
    const principal = servicePrincipal(after.name, name);
    const left = (await reader.memberships([principal])).filter((membership) => stays(membership, others));
    if (left.length === 0) continue;
    const error = new ConflictError(
      `service \`${principal}\` is a member of ${listed(left, sees)}: remove it there, or with it by removeMemberships=true (--remove-memberships)`,
    );
    faults.push({ error, path: ['services'] });
  }
  return faults;
}

/** Whether a membership is still there after the change of other documents. */
function stays({ domain, kind, list, member }: Membership, others: NameOptions['others']): boolean {
  const content = others?.get(domain);
  if (content === undefined) return true;
  const lists: readonly { readonly name: string; readonly members: readonly { readonly name: string }[] }[] =
    kind === 'role' ? content.roles : content.groups;
  return lists.some(({ name, members }) => name === list && members.some((one) => one.name === member));
}

/** Memberships in words, for a refusal: those that the author may not look at are only counted. */
function listed(memberships: readonly Membership[], sees: Sees = () => true): string {
  const seen = memberships.filter(({ domain, kind, list }) => sees(domain, `${kind}.${list}`));
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

/** What the author of a change should know of the memberships that it removes in other domains; these are told as in a refusal. */
export async function removalWarnings(
  reader: Pick<StoreReader, 'memberships'>,
  domain: DomainName,
  names: readonly string[],
  { sees, others }: Pick<NameOptions, 'sees' | 'others'>,
): Promise<{ readonly name: string; readonly text: string }[]> {
  const warnings: { name: string; text: string }[] = [];
  for (const name of names) {
    const found = await reader.memberships([name]);
    const elsewhere = found.filter((membership) => membership.domain !== domain && stays(membership, others));
    if (elsewhere.length > 0) warnings.push({ name, text: `\`${name}\` is taken out of ${listed(elsewhere, sees)}` });
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
    `services of \`${domain}\` are members of ${listed(used, sees)}: removeMemberships=true (--remove-memberships) removes them`,
  );
}

/** A domain without these members, as far as it was read. */
export function withoutMembers<Content extends DomainContent>(content: Content, names: readonly string[]): Content {
  const gone = new Set(names);
  const strip = <List extends { readonly members: readonly { readonly name: string }[] }>(list: List): List => ({
    ...list,
    members: list.members.filter(({ name }) => !gone.has(name)),
  });
  return { ...content, roles: content.roles.map(strip), groups: content.groups.map(strip) };
}

/** Removes these names from all roles and groups, in every domain that has them, each with its audit record. */
export async function removeMemberships(transaction: StoreTransaction, names: readonly string[]): Promise<void> {
  const found = await transaction.memberships(names);
  for (const domain of new Set(found.map((membership) => membership.domain))) {
    const excerpt = await transaction.excerpt(domain, { ...attributes, names });
    if (excerpt !== undefined) await transaction.saveExcerpt(excerpt, withoutMembers(excerpt.content, names));
  }
}
