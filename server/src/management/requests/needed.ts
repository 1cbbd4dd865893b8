import { type DomainName, foldAscii, fullRoleName, type RoleName, servicePrincipal } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { ConflictError } from '../../errors.ts';
import { type DomainChange, isEmpty, listName, written } from '../../model/domain-change.ts';
import type { DomainFields, PolicyRecord } from '../../model/records.ts';
import type { ProtectedRole, StoreReader } from '../../model/store.ts';
import { wildcardsOf } from '../affected-domains.ts';
import { reviewedActions } from './reviewed-actions.ts';

/** Approvals by other persons that a change needs. */
export interface Needed {
  readonly approvals: number;
  /** What asks for them: `domain films`, `role films:role.publisher`. */
  readonly by: string;
}

export const noneNeeded: Needed = { approvals: 0, by: '' };

/**
 * Approvals that a change of a domain needs: the most of those of the domain, of each role whose members it changes, directly, by a group of the
 * domain or by a rule `assume_role`, and of each protected domain that a service of this one may change without approvals. The numbers before the
 * change count, so that lowering one needs the old number and raising one needs none. The only place that decides this: single edits, documents,
 * deletions and local commands ask here.
 */
export async function neededFor(change: DomainChange, reader: StoreReader): Promise<Needed> {
  const { name, before } = change;
  if (before === undefined || isEmpty(change)) return noneNeeded;
  let most: Needed =
    before.approvals === undefined ? noneNeeded : { approvals: before.approvals, by: `domain \`${name}\`` };
  const need = (approvals: number, by: string) => {
    if (approvals > most.approvals) most = { approvals, by };
  };
  for (const { name: role, approvals } of await touchedRoles(change, reader)) {
    need(approvals, `role \`${fullRoleName(name, role)}\``);
  }
  for (const { domain, approvals } of await domainsOpenedBy(change, reader)) {
    need(approvals, `domain \`${domain}\`, which a service of \`${name}\` may change without approval,`);
  }
  return most;
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
export function requireNoApproval({ approvals, by }: Needed): void {
  if (approvals === 0) return;
  const count = approvals === 1 ? '1 approval' : `${approvals} approvals`;
  throw new ConflictError(`${by} needs ${count}: add request=true (--request)`);
}

/** The protected roles of the domain whose members the change concerns. */
async function touchedRoles(change: DomainChange, reader: StoreReader): Promise<readonly ProtectedRole[]> {
  const all = await reader.protectedRoles(change.name);
  if (all.length === 0) return [];
  const isTouched = await rolesWithOtherMembers(change, reader);
  return all.filter(({ name }) => isTouched(name));
}

/** Predicate: the change concerns the role itself or who is in it, directly, by a group of the domain or by a rule `assume_role`. */
export async function rolesWithOtherMembers(
  change: DomainChange,
  reader: StoreReader,
): Promise<(role: RoleName) => boolean> {
  const touched = new Set<string>(change.roles.map(listName));
  const groups = change.groups.map((group) => `${change.name}:group.${listName(group)}`);
  for (const { list } of groups.length === 0 ? [] : await reader.entries(change.name, groups)) {
    if (list.kind === 'role') touched.add(list.name);
  }
  const assumed = changedAssumptions(change.policies);
  return (role) => {
    const full = fullRoleName(change.name, role);
    return touched.has(role) || assumed.some((resource) => matchesPattern(resource, full));
  };
}

/** Resources, as patterns, of the rules `assume_role` that a change of policies adds, removes, or switches on or off. */
function changedAssumptions(policies: DomainChange['policies']): readonly string[] {
  const was = assumptions([...policies.removed, ...policies.changed.map(({ before }) => before)]);
  const is = assumptions(written(policies));
  const changed = [...was.filter((rule) => !is.includes(rule)), ...is.filter((rule) => !was.includes(rule))];
  return changed.map((rule) => JSON.parse(rule)[0] as string);
}

function assumptions(policies: readonly PolicyRecord[]): string[] {
  return policies
    .filter(({ active }) => active)
    .flatMap(({ assertions }) => assertions)
    .filter(({ action }) => matchesPattern(foldAscii(action), 'assume_role'))
    .map(({ effect, role, resource, conditions }) =>
      JSON.stringify([foldAscii(resource), effect, foldAscii(role), conditions ?? null]),
    );
}

interface OpenedDomain {
  readonly domain: DomainName;
  readonly approvals: number;
}

/**
 * Other protected domains in which a service of this one may act without approvals (`apply_reviewed`, `break_glass`), where the change concerns who can be
 * that service: its keys and settings, or the rules by which instances become it.
 */
async function domainsOpenedBy(change: DomainChange, reader: StoreReader): Promise<readonly OpenedDomain[]> {
  const services = [...change.services.removed, ...written(change.services)].map(({ name }) => name);
  const launches = changesLaunches(change.policies);
  if (services.length === 0 && !launches) return [];
  const own = launches ? (await reader.services(change.name)).map(({ name }) => name) : services;
  const found = new Map<DomainName, OpenedDomain>();
  for (const service of new Set(own)) {
    const principal = servicePrincipal(change.name, service);
    const names = [principal, ...wildcardsOf(principal)];
    const listed = [...names, ...(await reader.groupsWithMember({ names, prefixes: [] }))];
    for (const domain of await reader.domainsWithMember({ names: listed, prefixes: [] })) {
      const attributes = await reader.attributes(domain);
      if (attributes?.approvals === undefined || found.has(domain)) continue;
      const roles = (await reader.entries(domain, listed)).flatMap(({ list }) =>
        list.kind === 'role' ? [list.name] : [],
      );
      if (await actsAlone(domain, roles, reader)) found.set(domain, { domain, approvals: attributes.approvals });
    }
  }
  return [...found.values()];
}

/** True if the change concerns rules by which instances become services of the domain. */
function changesLaunches(policies: DomainChange['policies']): boolean {
  const all = [...policies.removed, ...policies.changed.map(({ before }) => before), ...written(policies)];
  return all.some(({ assertions }) =>
    assertions.some(({ action }) => ['launch', 'update'].some((name) => matchesPattern(foldAscii(action), name))),
  );
}

/** True if one of the roles may change its domain without approvals. */
async function actsAlone(domain: DomainName, roles: readonly string[], reader: StoreReader): Promise<boolean> {
  const names = roles.map((role) => `${domain}:role.${role}`);
  return (await reader.policies(domain)).some(
    ({ active, assertions }) =>
      active &&
      assertions.some(
        ({ effect, action, role }) =>
          effect === 'ALLOW' &&
          reviewedActions.some((name) => foldAscii(action) === name) &&
          names.some((name) => matchesPattern(foldAscii(role), name)),
      ),
  );
}
