import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import {
  type DomainName,
  fullRoleName,
  type GroupName,
  parseRoleName,
  type RoleName,
} from '@signet/policy-engine/names';
import { ConflictError, InvalidRequestError } from '../errors.ts';
import { type DomainChange, listName, written } from '../model/domain-change.ts';
import type { MemberRecord, PolicyRecord } from '../model/records.ts';
import { isBelowUser } from '../snapshot/snapshot.ts';
import type { ChangeFacts, ChangeFault, ChangeRule } from './change-rule.ts';
import { RoleNames } from './documents/role-names.ts';
import { consentFault, faultOf, type GroupNames, groupNames, newMembers, newReferences } from './new-references.ts';
import { adminRole, systemDomain } from './rights.ts';
import { StoreAfter } from './store-after.ts';

/* Rules against changes that hurt: wildcard members that were not asked for by name, the last administrator removed, references to what is
   not there or may not be seen, assertions left without their role. */

export const wildcardMembers: ChangeRule = (change, { allowWildcard }) => {
  if (allowWildcard) return [];
  const wildcards = newMembers(change).filter(({ member }) => member.name.endsWith('*'));
  return wildcards.map(({ member, path }) => {
    const text = `\`${member.name}\` covers more than one principal: ask for it with allowWildcard=true (--allow-wildcard)`;
    return { error: new InvalidRequestError(text), path };
  });
};

/** Requires an administrator, other than with an expiry: a domain without one cannot help itself. */
export const lastAdministrator: ChangeRule = async ({ name, roles, groups }, { reader, after, now }) => {
  if (groups.length === 0 && !roles.some((role) => listName(role) === adminRole)) return [];
  const is = await administration(after, name, now);
  if (is === 'lasting') return [];
  const was = await administration(new StoreAfter(reader, []), name, now);
  if (was === 'none' || (was === 'ending' && is === 'ending')) return [];
  const when = is === 'none' ? '' : ' once all of them have expired';
  const error = new ConflictError(`domain \`${name}\` would be left without an administrator${when}`);
  return [{ error, path: ['roles', adminRole, 'members'] }];
};

/** Checks for an active member of the role `admin` at `now`, and one without an expiry. */
async function administration(
  store: StoreAfter,
  domain: DomainName,
  now: number,
): Promise<'lasting' | 'ending' | 'none'> {
  let found: 'ending' | 'none' = 'none';
  for await (const { expires } of administrators(store, domain, now)) {
    if (expires === undefined) return 'lasting';
    found = 'ending';
  }
  return found;
}

/** Active entries of the role `admin` at `now`, with those of the domain's own groups in it. */
export async function* administrators(
  store: StoreAfter,
  domain: DomainName,
  now: number,
): AsyncGenerator<MemberRecord> {
  const counts = ({ disabled, expires }: MemberRecord) => !disabled && (expires === undefined || expires > now);
  const prefix = `${domain}:group.`;
  for await (const page of store.members({ kind: 'role', domain, name: parseRoleName(adminRole) })) {
    for (const member of page.filter(counts)) {
      // Parsed with the member.
      const name = member.name.slice(prefix.length) as GroupName;
      const pages = member.name.startsWith(prefix) ? store.members({ kind: 'group', domain, name }) : [[member]];
      for await (const ones of pages) for (const one of ones.filter(counts)) yield { ...member, ...one };
    }
  }
}

/**
 * Protects the domain of the system, on which everything depends; services of a domain `user`, or below it, would have names that mean users.
 */
export const systemDomains: ChangeRule = ({ name, before, after }) => {
  if (before === undefined && name === 'user') {
    const error = new ConflictError('domain `user` cannot be made: its services would have the names of users');
    return [{ error, path: ['domain'] }];
  }
  if (before === undefined && isBelowUser(name)) {
    const error = new ConflictError(`domain \`${name}\` cannot be made: members such as \`user.*\` mean users`);
    return [{ error, path: ['domain'] }];
  }
  if (name !== systemDomain || after.enabled || before?.enabled === false) return [];
  return [{ error: new ConflictError(`domain \`${systemDomain}\` cannot be disabled`), path: ['enabled'] }];
};

/** The services of a domain below `user` would be covered by members that mean users. */
export const userServices: ChangeRule = ({ name, services }) => {
  if (!isBelowUser(name)) return [];
  const text = `domain \`${name}\` cannot have services: members such as \`user.*\` mean users`;
  return services.added.map((service) => ({ error: new ConflictError(text), path: ['services', service.name] }));
};

/** Every assertion needs a role that it can name. */
export const rolesOfAssertions: ChangeRule = async ({ name, roles, policies }, { reader, after }) => {
  const losesRoles = roles.some((role) => role.after === undefined);
  const looked = losesRoles ? await after.policies(name) : written(policies);
  if (looked.length === 0) return [];
  const known = losesRoles
    ? orphans(name, await reader.policies(name), await reader.listNames(name, 'role'))
    : policies.changed.flatMap(({ before }) => spokenOf(before));
  const texts = new Set(known.map(({ text }) => text));
  const missing = orphans(name, looked, await after.listNames(name, 'role')).filter(({ text }) => !texts.has(text));
  return missing.map(({ text, policy }) => {
    return { error: new ConflictError(`${text}, which would not exist`), path: ['policies', policy] };
  });
};

/** The roles that a policy names, each once: it may have tens of thousands of assertions for it. */
function spokenOf({ name, version, assertions }: PolicyRecord) {
  return [...new Set(assertions.map(({ role }) => role))].map((role) => {
    return { policy: name, role, text: `policy \`${name}\` version \`${version}\` names \`${role}\`` };
  });
}

/** Policies' references to roles of the domain that do not exist. */
function orphans(domain: DomainName, policies: readonly PolicyRecord[], roles: readonly RoleName[]) {
  const names = new RoleNames(roles.map((role) => fullRoleName(domain, role)));
  return policies.flatMap(spokenOf).filter(({ role }) => !names.has(role));
}

/** The full names of groups that a change removes. */
export function lostGroups({ name, groups }: Pick<DomainChange, 'name' | 'groups'>): string[] {
  const lost = groups.filter(({ after }) => after === undefined);
  return lost.map((group) => `${name}:group.${listName(group)}`);
}

/** Roles of the domain itself whose group goes away under them. */
export const ownGroups: ChangeRule = async (change, { after, removeMemberships }) => {
  if (removeMemberships === true) return [];
  const faults: ChangeFault[] = [];
  for (const full of lostGroups(change)) {
    const user = (await after.entries(change.name, [full])).find(({ list }) => list.kind === 'role');
    if (user === undefined) continue;
    const error = new ConflictError(`role \`${user.list.name}\` has the group \`${full}\``);
    faults.push({ error, path: ['roles', user.list.name, 'members', full] });
  }
  return faults;
};

/** Groups that are not there or may not be looked at, and trusted domains. Each domain is read once, however many of its groups are named. */
export const references: ChangeRule = async (change, facts) => {
  const owners = new Map<DomainName, GroupNames>();
  const pause = pauseBetweenSlices();
  for (const reference of newReferences(change)) {
    // A decision of the domain that is named.
    await pause();
    const { domain } = reference;
    const refused = consentFault(reference, change.name, facts.sees);
    if (refused !== undefined) return [refused];
    if (!owners.has(domain)) owners.set(domain, await groupsAfter(domain, facts));
    const missing = faultOf(reference, owners.get(domain));
    if (missing !== undefined) return [missing];
  }
  return [];
};

async function groupsAfter(domain: DomainName, { after }: ChangeFacts): Promise<GroupNames> {
  return (await after.exists(domain)) ? groupNames(domain, await after.listNames(domain, 'group')) : undefined;
}
