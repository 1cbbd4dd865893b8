import { type DomainName, fullRoleName, type RoleName } from '@signet/policy-engine/names';
import { reviewedActions } from '../../access/acts-alone.ts';
import { ConflictError } from '../../errors.ts';
import { type DomainChange, isEmpty, listName } from '../../model/domain-change.ts';
import type { DomainFields } from '../../model/records.ts';
import type { ProtectedRole, StoreReader } from '../../model/store.ts';
import { domainsOpenedBy } from './opened-domains.ts';
import { activeAssertions, changesReviewed, isAbout, reviewedGrants } from './reviewed-grants.ts';
import { rolesWithOtherMembers } from './touched-roles.ts';

export { rolesWithOtherMembers };

/** Approvals by other persons that a change needs. */
export interface Needed {
  readonly approvals: number;
  /** Protected domain or role that needs them: `domain films`, `role films:role.publisher`. */
  readonly by: string;
}

export const noneNeeded: Needed = { approvals: 0, by: '' };

/**
 * Approvals that a change of a domain needs: the most of those of the domain, of each role that it touches (`touched-roles.ts`), and of each
 * domain that a service of this one may change without approval, where the change concerns who can be that service (`opened-domains.ts`). The
 * numbers before the change count, so that lowering one needs the old number and raising one needs none. The only place that decides this: single
 * edits, documents, deletions and local commands ask here.
 */
export async function neededFor(change: DomainChange, reader: StoreReader): Promise<Needed> {
  if (isEmpty(change)) return noneNeeded;
  const { name, before } = change;
  const own: Needed = { approvals: before?.approvals ?? 0, by: `domain \`${name}\`` };
  const roles = before === undefined ? [] : await reader.protectedRoles(name);
  const all = [own, ...(await neededForRoles(change, { roles, atLeast: own.approvals }, reader))];
  for (const { approvals } of await domainsOpenedBy(change, reader)) {
    // Not named: the caller may not know of it.
    all.push({ approvals, by: `a domain that a service of \`${name}\` may change without approval` });
  }
  return mostOf(all);
}

/** Approvals that roles of the domain need, where these are more than `atLeast`. */
async function neededForRoles(
  change: DomainChange,
  { roles, atLeast }: { readonly roles: readonly ProtectedRole[]; readonly atLeast: number },
  reader: StoreReader,
): Promise<readonly Needed[]> {
  const asking = roles.filter(({ approvals }) => approvals > atLeast);
  if (asking.length === 0) return [];
  const { name } = change;
  const isTouched = await rolesWithOtherMembers(change, reader);
  const found = asking
    .filter((role) => isTouched(role.name))
    .map((role) => ({ approvals: role.approvals, by: `role \`${fullRoleName(name, role.name)}\`` }));
  const grants = reviewedGrants(name, activeAssertions(await reader.policies(name)));
  const isGiven = (role: RoleName) => grants.some((one) => isAbout(one, fullRoleName(name, role)));
  // A new role counts: an assertion may name it by a wildcard.
  const names = grants.length === 0 ? [] : [...(await reader.listNames(name, 'role')), ...change.roles.map(listName)];
  const changesWho = names.some((role) => isTouched(role) && isGiven(role));
  if (changesWho || changesReviewed(change)) {
    const strictest = asking.reduce((most, role) => (role.approvals > most.approvals ? role : most));
    const by = `role \`${fullRoleName(name, strictest.name)}\`, which \`${reviewedActions.join('` or `')}\` changes without approval,`;
    found.push({ approvals: strictest.approvals, by });
  }
  return found;
}

/** Approvals that the deletion of a domain needs: the most of its own and of its roles, which are deleted with it. */
export async function neededForDeletion({ name, approvals }: DomainFields, reader: StoreReader): Promise<Needed> {
  let most: Needed = approvals === undefined ? noneNeeded : { approvals, by: `domain \`${name}\`` };
  for (const role of await reader.protectedRoles(name)) {
    if (role.approvals > most.approvals) {
      most = { approvals: role.approvals, by: `role \`${fullRoleName(name, role.name)}\`` };
    }
  }
  return most;
}

/** Approvals by domain that changes of many need; only those that need some. */
export type Needs = ReadonlyMap<DomainName, Needed>;

export async function neededForAll(
  changes: readonly { readonly change: DomainChange }[],
  reader: StoreReader,
): Promise<Needs> {
  const needs = new Map<DomainName, Needed>();
  for (const { change } of changes) {
    const needed = await neededFor(change, reader);
    if (needed.approvals > 0) needs.set(change.name, needed);
  }
  return needs;
}

export function approvalsOf(needs: Needs): Record<DomainName, number> {
  return Object.fromEntries([...needs].map(([name, { approvals }]) => [name, approvals]));
}

/** The most approvals that any of the domains needs. */
export function mostOf(needs: Iterable<Needed>): Needed {
  return [...needs].reduce((most, one) => (one.approvals > most.approvals ? one : most), noneNeeded);
}

/** Throws `ConflictError` for a change that must be asked for. */
export function requireNoApproval({ approvals, by }: Needed, remedy = 'add request=true (--request)'): void {
  if (approvals === 0) return;
  const count = approvals === 1 ? '1 approval' : `${approvals} approvals`;
  throw new ConflictError(`${by} needs ${count}: ${remedy}`);
}
