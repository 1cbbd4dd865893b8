import {
  type DomainName,
  foldAscii,
  fullRoleName,
  type PrincipalName,
  parseDomainName,
  type RoleName,
} from '@signet/policy-engine/names';
import { matchesPattern, maxWork, Work, WorkExceededError } from '@signet/policy-engine/policy';
import type { WirePolicy } from '@signet/policy-engine/wire';
import { authorityAction, type Right, rights } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { decideCounted } from '../access/decide-counted.ts';
import { grantsExactly } from '../access/exact-access.ts';
import { ForbiddenError } from '../errors.ts';
import type { Viewer } from '../impact/fold.ts';
import { type Compared, grantedRoles, heldRoles, stepsARole } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { ApprovalAction } from './requests/reviewed-actions.ts';

export { type Right, rights };

export const systemDomain: DomainName = parseDomainName('sys.auth');
/** The role of a domain whose members may do everything with it. */
export const adminRole = 'admin';

/** Requested right and its object: `role.reader`, `group.team`, `policy.movies`, `service.api`, `domain`. */
interface RequestedRight {
  readonly right: Right;
  readonly domain: DomainName;
  readonly object: string;
  /** True if only the policy of `sys.auth` can grant it. */
  readonly systemOnly?: boolean;
}

interface RightQuery extends RequestedRight {
  readonly caller: PrincipalName;
  readonly compared?: Compared | undefined;
}

/** Rights of a caller by one snapshot. The roles held in a domain are looked up once, whatever is asked about it. */
export interface CallerRights extends Viewer {
  readonly caller: PrincipalName;
  /**
   * Throws `ForbiddenError` unless the caller is an administrator, or the policy of `sys.auth` or of the domain gives the right by its name.
   * Answers whether the caller is an administrator, who alone may change who manages the domain. INVARIANT: a right that `sys.auth` gives is
   * that right and no more; `manage_domain` and the role `admin` of `sys.auth` administer.
   */
  require(query: RequestedRight): { readonly isAdmin: boolean };
  /** True if the policy of `sys.auth` grants `manage_domain` on the domain. */
  operates(domain: DomainName): boolean;
  /** True for the administrators of the domain. */
  administers(domain: DomainName): boolean;
  /** True if the policy of the domain grants the action by its exact name, on the domain or one of its objects. */
  holds(action: ApprovalAction, domain: DomainName, object?: string): boolean;
}

/**
 * Refusal of a caller without a right; it says who can grant the right: the administrators of `domain` if given, and system operators.
 * `place` is quoted by the caller.
 */
export function lacksRight(caller: PrincipalName, right: Right, place: string, domain?: DomainName): ForbiddenError {
  const administrators = domain === undefined ? '' : `administrators of \`${domain}\` and `;
  return new ForbiddenError(
    `\`${caller}\` lacks \`${right}\` on ${place}: ${administrators}system operators (roles of \`${systemDomain}\`) can grant it`,
  );
}

/** Rights of a command beside the store: who has the store may do everything. */
export const everyRight: Omit<CallerRights, 'caller'> = {
  seesAll: () => true,
  sees: () => true,
  operates: () => true,
  require: () => ({ isAdmin: true }),
  administers: () => true,
  // Who has the store is trusted, and says so by `--break-glass`.
  holds: () => false,
};

/** Rights of a caller. Those to manage anything of an object include the right to look at it. */
export function rightsOf(snapshot: Snapshot, caller: PrincipalName, now: number, compared?: Compared): CallerRights {
  const held = perDomain((domain) => heldBy(snapshot, { caller, domain, compared }, now));
  const isGiven = (right: Right, domain: DomainName) => isOperator(snapshot, { caller, right, domain, compared }, now);
  const owns = (domain: DomainName) => isOwner(held(domain));
  const holds = (action: ApprovalAction, domain: DomainName, object = 'domain') =>
    grantsExactly(snapshot, { principal: caller, action, domain, object }, now, compared ?? (() => undefined));
  // Who approves changes must see them.
  const seesAll = perDomain(
    (domain) => isGiven('view_domain', domain) || owns(domain) || holds('approve_changes', domain),
  );
  return {
    caller,
    seesAll,
    sees: (domain, object) => seesAll(domain) || managesSome(held(domain), object, compared),
    operates: (domain) => isGiven('manage_domain', domain),
    administers: (domain) => isGiven('manage_domain', domain) || owns(domain),
    holds,
    require({ right, domain, object, systemOnly }) {
      const fromSystem = isGiven(right, domain);
      if (fromSystem && (isGiven('manage_domain', domain) || owns(systemDomain))) return { isAdmin: true };
      if (!fromSystem && systemOnly === true) throw lacksRight(caller, right, `\`${domain}\` in \`${systemDomain}\``);
      if (owns(domain)) return { isAdmin: true };
      if (fromSystem || isDelegate(held(domain), { right, object, compared })) return { isAdmin: false };
      throw lacksRight(caller, right, `\`${domain}:${object}\``, domain);
    },
  };
}

function perDomain<Found>(find: (domain: DomainName) => Found): (domain: DomainName) => Found {
  const known = new Map<DomainName, Found>();
  return (domain) => {
    const found = known.get(domain);
    if (found !== undefined || known.has(domain)) return found as Found;
    const made = find(domain);
    known.set(domain, made);
    return made;
  };
}

/** True if the policy of `sys.auth` grants the right on `sys.auth:domain.<domain>`. */
export function isOperator(snapshot: Snapshot, query: Omit<RightQuery, 'object'>, now: number): boolean {
  const { caller, right, domain, compared } = query;
  if (!snapshot.domains.has(systemDomain)) return false;
  const asked = { principal: caller, action: authorityAction(right), resource: `${systemDomain}:domain.${domain}` };
  const { granted, work } = checkAccess(snapshot, asked, now);
  compared?.(work);
  return granted;
}

/** True if the policy of `sys.auth` may grant the right on any domain at all; if not, single domains need not be checked. */
export function mayOperateSome(snapshot: Snapshot, caller: PrincipalName, right: Right, now: number): boolean {
  const system = snapshot.domain(systemDomain);
  if (system === undefined) return false;
  const held = grantedRoles(snapshot, system, caller, now).map(({ name }) => fullRoleName(systemDomain, name));
  const gives = ({ effect, action, role }: WirePolicy['assertions'][number]) =>
    effect !== 'DENY' &&
    matchesPattern(foldAscii(action), right) &&
    held.some((name) => matchesPattern(foldAscii(role), name));
  return (
    held.length > 0 && system.policies.some(({ active, assertions }) => active !== false && assertions.some(gives))
  );
}

/** Roles and rights of a caller in a domain. */
interface Held {
  readonly domain: DomainSnapshot;
  readonly roles: readonly RoleName[];
  /** Full names, with the domain. */
  readonly fullRoles: readonly string[];
}

/** Undefined where there is no such domain. */
function heldBy(
  snapshot: Snapshot,
  { caller, domain, compared }: Pick<RightQuery, 'caller' | 'domain' | 'compared'>,
  now: number,
): Held | undefined {
  const own = snapshot.domain(domain);
  if (own === undefined) return undefined;
  const roles = heldRoles(snapshot, own, caller, { now, compared }).map(({ name }) => name);
  compared?.(roles.length * stepsARole);
  return { domain: own, roles, fullRoles: roles.map((name) => fullRoleName(domain, name)) };
}

function isOwner(held: Held | undefined): boolean {
  return held?.roles.some((name) => name === adminRole) === true;
}

/** True if the caller has some right on the object, found within the cost of one decision. */
function managesSome(held: Held | undefined, object: string, compared: Compared | undefined): boolean {
  let spent = 0;
  const count = (work: number) => {
    spent += work;
    compared?.(work);
  };
  return rights.some((right) => spent <= maxWork && isDelegate(held, { right, object, compared: count }));
}

/**
 * INVARIANT: an assertion names the right. A tenant's `*` for its own resources hands out no management by accident; and it denies none
 * from those to whom another assertion gives it.
 */
function isDelegate(held: Held | undefined, query: Pick<RightQuery, 'right' | 'object' | 'compared'>): boolean {
  // Most callers hold nothing in most domains.
  if (held === undefined || held.roles.length === 0) return false;
  const { right, object, compared } = query;
  const { domain, roles } = held;
  const resource = `${domain.name}:${object}`;
  if (!isNamed(held, { right, resource, compared })) return false;
  // Any DENY wins.
  const { decision, work } = decideCounted(domain.policy, roles, { action: authorityAction(right), resource });
  compared?.(work);
  return decision.status === 'ALLOW';
}

/** True if an assertion gives the right by its name to a role that is held. */
function isNamed(
  { domain, fullRoles }: Held,
  { right, resource, compared }: Pick<RightQuery, 'right' | 'compared'> & { readonly resource: string },
): boolean {
  const work = new Work();
  const gives = (delegation: Delegation) =>
    matchesPattern(delegation.action, right, work) &&
    matchesPattern(delegation.resource, resource, work) &&
    fullRoles.some((role) => matchesPattern(delegation.role, role, work));
  try {
    return delegationsOf(domain).some(gives);
  } catch (error) {
    // Treated as a decision that costs too much.
    if (error instanceof WorkExceededError) return false;
    throw error;
  } finally {
    compared?.(work.spent);
  }
}

/** An assertion that may give rights to manage, folded. */
type Delegation = Pick<WirePolicy['assertions'][number], 'action' | 'resource' | 'role'>;

const delegations = new WeakMap<DomainSnapshot, readonly Delegation[]>();

/**
 * Delegations of a domain, computed once: it may have tens of thousands of assertions, and thousands of objects are checked one after the other.
 */
function delegationsOf(domain: DomainSnapshot): readonly Delegation[] {
  const known = delegations.get(domain);
  if (known !== undefined) return known;
  const found: Delegation[] = [];
  for (const { active, assertions } of domain.policies) {
    if (active === false) continue;
    for (const { effect, conditions, action, resource, role } of assertions) {
      if (effect === 'DENY' || conditions !== undefined || !namesRight(action)) continue;
      found.push({ action: foldAscii(action), resource: foldAscii(resource), role: foldAscii(role) });
    }
  }
  delegations.set(domain, found);
  return found;
}

/** True if an action is a right to manage, or a pattern of such. */
function namesRight(action: string): boolean {
  const folded = action.toLowerCase();
  return folded.startsWith('manage_') || folded === 'view_domain';
}
