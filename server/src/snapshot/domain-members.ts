import type { DomainName, PrincipalName, RoleName } from '@signet/policy-engine/names';

/** Membership of a name in a role or group. */
export interface Entry<List extends string = string> {
  readonly list: List;
  /** Milliseconds since the epoch; `Infinity`: without end, `-Infinity`: disabled. */
  readonly until: number;
}

/** Roles of the domain, by their short names. */
type RoleEntry = Entry<RoleName>;

/** Groups, by their full names: `domain:group.name`. */
type GroupEntry = Entry;

/**
 * Members of the roles and groups of one domain, indexed so that a look-up costs a few map accesses however many members there are. Expiry and
 * disabling are checked at the query. Immutable; names in the same lists share them.
 */
export interface DomainMembers {
  /** Roles by the exact name of a member. Lists with more than `scannedEntries` are sorted by role: see `isInRole`. */
  readonly names: ReadonlyMap<string, readonly RoleEntry[]>;
  /** Roles by the text before the `*` of a member such as `media.*`; that of `*` is empty. */
  readonly prefixes: ReadonlyMap<string, readonly RoleEntry[]>;
  /** The lengths that occur in `prefixes`, ascending. */
  readonly prefixLengths: readonly number[];
  /** Roles by the full name of a group that is a member. */
  readonly groups: ReadonlyMap<string, readonly RoleEntry[]>;
  /** The domains whose groups occur in `groups`. */
  readonly groupDomains: readonly DomainName[];
  /** The groups of this domain by the exact name of a member. */
  readonly groupMembers: ReadonlyMap<string, readonly GroupEntry[]>;
}

/** The roles that have exactly this entry: a principal, a group, `*` or a prefix. */
export function rolesListing(members: DomainMembers, entry: string): readonly RoleEntry[] {
  const found = entry.endsWith('*')
    ? members.prefixes.get(entry.slice(0, -1))
    : (members.names.get(entry) ?? members.groups.get(entry));
  return found ?? [];
}

/** An entry of a role that covers a name, as it is written there. */
interface CoveringEntry {
  readonly entry: string;
  readonly roles: readonly RoleEntry[];
}

/** The entries of roles that are called so, or that cover the name as `*` or a prefix. */
export function* coveringEntries(members: DomainMembers, name: string): Generator<CoveringEntry> {
  if (!name.endsWith('*')) yield { entry: name, roles: rolesListing(members, name) };
  for (const length of members.prefixLengths) {
    if (length > name.length) return;
    const prefix = name.slice(0, length);
    const roles = members.prefixes.get(prefix);
    if (roles !== undefined) yield { entry: `${prefix}*`, roles };
  }
}

/** Time of a look-up, and the callback for entries that end. */
interface LookUp {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Called when an entry by which a role was found has an end. Not called: the principal stays in the roles for ever. */
  readonly onEnd?: (() => void) | undefined;
}

/** Calls `visit` for every role that the principal is in at `now`: by name, `*`, prefix or group (facts of role look-up, step 1). */
export function visitRoles(
  members: DomainMembers,
  membersOf: (domain: DomainName) => DomainMembers | undefined,
  principal: PrincipalName,
  visitor: LookUp & { readonly visit: (role: RoleName) => void },
): void {
  visitLive(members.names.get(principal), visitor);
  for (const length of members.prefixLengths) {
    if (length > principal.length) break;
    visitLive(members.prefixes.get(principal.slice(0, length)), visitor);
  }
  for (const domain of members.groupDomains) {
    for (const entry of membersOf(domain)?.groupMembers.get(principal) ?? []) {
      if (isLive(entry, visitor)) visitLive(members.groups.get(entry.list), visitor);
    }
  }
}

/** Lists up to this length are read from end to end, longer ones searched. */
export const scannedEntries = 8;

/** True if `visitRoles` would visit this role, found without the principal's other roles. */
export function isInRole(
  members: DomainMembers,
  membersOf: (domain: DomainName) => DomainMembers | undefined,
  principal: PrincipalName,
  lookUp: LookUp & { readonly role: RoleName },
): boolean {
  if (hasLive(members.names.get(principal), lookUp)) return true;
  for (const length of members.prefixLengths) {
    if (length > principal.length) break;
    if (hasLive(members.prefixes.get(principal.slice(0, length)), lookUp)) return true;
  }
  for (const domain of members.groupDomains) {
    for (const entry of membersOf(domain)?.groupMembers.get(principal) ?? []) {
      if (isLive(entry, lookUp) && hasLive(members.groups.get(entry.list), lookUp)) return true;
    }
  }
  return false;
}

/** Every entry of the role counts, should there be several. */
function hasLive(entries: readonly RoleEntry[] | undefined, lookUp: LookUp & { readonly role: RoleName }): boolean {
  const { role } = lookUp;
  if (entries === undefined) return false;
  if (entries.length <= scannedEntries) return entries.some((entry) => entry.list === role && isLive(entry, lookUp));
  for (let at = firstFrom(entries, role); ; at += 1) {
    const entry = entries[at];
    if (entry?.list !== role) return false;
    if (isLive(entry, lookUp)) return true;
  }
}

/** True if an entry counts. */
export function isLive({ until }: Entry, { now, onEnd }: LookUp): boolean {
  if (until === Number.POSITIVE_INFINITY) return true;
  if (until <= now) return false;
  onEnd?.();
  return true;
}

/** Index at which the entries of a role begin in a sorted list, or would. */
function firstFrom(entries: readonly RoleEntry[], role: RoleName): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.list ?? role) < role) low = middle + 1;
    else high = middle;
  }
  return low;
}

function visitLive(
  entries: readonly RoleEntry[] | undefined,
  visitor: LookUp & { readonly visit: (role: RoleName) => void },
): void {
  if (entries === undefined) return;
  for (const entry of entries) if (isLive(entry, visitor)) visitor.visit(entry.list);
}
