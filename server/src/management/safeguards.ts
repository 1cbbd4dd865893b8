import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type DomainName, fullRoleName } from '@signet/policy-engine/names';
import { ConflictError, ForbiddenError, InvalidRequestError } from '../errors.ts';
import type { DomainContent, MemberRecord } from '../model/records.ts';
import type { DomainScope, StoreReader } from '../model/store.ts';
import { isBelowUser } from '../snapshot/snapshot.ts';
import { RoleNames } from './documents/role-names.ts';
import { attributes } from './member-scope.ts';
import { findNameFaults, type NameOptions, type NameRules, type Sees } from './name-safeguards.ts';
import { faultOf, type GroupNames, groupNames, newMembers, newReferences, type Reference } from './new-references.ts';
import { systemDomain } from './rights.ts';
import type { SafeguardFault } from './safeguard-fault.ts';

/** Decisions between two yields: a few milliseconds. */
const decisionsAtOnce = 100;

export interface SafeguardOptions extends NameRules {
  /** Whether `*` and prefixes may become members. */
  readonly allowWildcard: boolean;
  readonly now: number;
  /** Where other domains are found, and who lists what the change removes. */
  readonly reader: Pick<StoreReader, 'excerpt'> & NameOptions['reader'];
  /** Whether the author may look at a role or group of another domain. */
  readonly sees: Sees;
}

/**
 * Refuses changes that hurt: wildcard members that were not asked for by name, the last administrator removed, references to
 * what is not there or may not be seen, assertions left without their role. Looks only at what is new: what was there before may stay.
 */
export async function checkSafeguards(
  before: DomainContent | undefined,
  after: DomainContent,
  options: SafeguardOptions,
): Promise<void> {
  const [fault] = findFaults(before, after, options);
  await yieldToOthers();
  const [nameFault] = fault === undefined ? await findNameFaults(before, after, options) : [];
  const first = fault ?? nameFault;
  if (first !== undefined) throw first.error;
  await yieldToOthers();
  await checkReferences(newReferences(before, after), after, options);
}

const listsAlone: DomainScope = { ...attributes, lists: 'all' };

/** Each domain is read once, however many of its groups are named. */
async function checkReferences(
  references: readonly Reference[],
  after: DomainContent,
  options: SafeguardOptions,
): Promise<void> {
  const owners = new Map<DomainName, GroupNames | undefined>([[after.name, groupNames(after)]]);
  for (const [index, reference] of references.entries()) {
    // A decision of the domain that is named.
    if (index % decisionsAtOnce === 0) await yieldToOthers();
    requireConsent(reference, after.name, options);
    const { domain } = reference;
    if (!owners.has(domain))
      owners.set(domain, groupNames((await options.reader.excerpt(domain, listsAlone))?.content));
    const missing = faultOf(reference, owners.get(domain));
    if (missing !== undefined) throw missing.error;
  }
}

/**
 * Who makes the group of another domain a member learns from then on who is in it, by asking about the role: it takes the right to look at
 * it. Asked before anything is said of whether the group exists. A trusted domain consents by its own assertion for `assume_role`.
 */
function requireConsent({ domain, group }: Reference, own: DomainName, { sees }: SafeguardOptions): void {
  if (group === undefined || domain === own || sees(domain, group.slice(domain.length + 1))) return;
  const text = `caller may not look at \`${group}\`: its domain must give \`view_domain\` on it`;
  throw new ForbiddenError(text);
}

/** The other domains with a role that has the group, disabled or not. */
export async function usersOf(
  reader: Pick<StoreReader, 'domainsWithMember'>,
  owner: DomainName,
  group: string,
): Promise<readonly DomainName[]> {
  const users = await reader.domainsWithMember({ names: [group], prefixes: [] });
  return users.filter((name) => name !== owner);
}

/** What is wrong with a change in itself, whatever other domains there are. Pure. */
export function findFaults(
  before: DomainContent | undefined,
  after: DomainContent,
  options: Pick<SafeguardOptions, 'allowWildcard' | 'removeMemberships' | 'now'>,
): SafeguardFault[] {
  return [
    ...(options.allowWildcard ? [] : wildcardFaults(before, after)),
    ...administratorFaults(before, after, options.now),
    ...systemFaults(before, after),
    ...userServiceFaults(before, after),
    ...assertionFaults(before, after),
    ...(options.removeMemberships === true ? [] : ownGroupFaults(before, after)),
  ];
}

function wildcardFaults(before: DomainContent | undefined, after: DomainContent): SafeguardFault[] {
  return newMembers(before, after)
    .filter(({ member }) => member.name.endsWith('*'))
    .map(({ member, path }) => {
      const text = `\`${member.name}\` covers more than one principal: ask for it with allowWildcard=true (--allow-wildcard)`;
      return { error: new InvalidRequestError(text), path };
    });
}

/** The entries of the role `admin` that count at `now`, with those of the domain's own groups in it. */
function administrators(content: DomainContent | undefined, now: number): MemberRecord[] {
  const counts = ({ disabled, expires }: MemberRecord) => !disabled && (expires === undefined || expires > now);
  const members = content?.roles.find(({ name }) => name === 'admin')?.members ?? [];
  const groups = new Map(content?.groups.map((group) => [`${content.name}:group.${group.name}`, group]));
  return members.filter(counts).flatMap((member) => {
    const group = groups.get(member.name);
    if (group === undefined) return [member];
    return group.members.filter(counts).map((one) => ({ ...member, ...one }));
  });
}

/** Nobody, or only some whose time is set: a domain that nobody administers cannot help itself. */
function administratorFaults(before: DomainContent | undefined, after: DomainContent, now: number): SafeguardFault[] {
  const [was, is] = [administrators(before, now), administrators(after, now)];
  const lasts = ({ expires }: MemberRecord) => expires === undefined;
  const path = ['roles', 'admin', 'members'];
  if (was.length > 0 && is.length === 0) {
    return [{ error: new ConflictError(`domain \`${after.name}\` would be left without an administrator`), path }];
  }
  if (was.some(lasts) && !is.some(lasts)) {
    const text = `domain \`${after.name}\` would be left without an administrator once all of them have expired`;
    return [{ error: new ConflictError(text), path }];
  }
  return [];
}

/** Everything hangs on the domain of the system; services of a domain `user` would have the names of users. */
function systemFaults(before: DomainContent | undefined, after: DomainContent): SafeguardFault[] {
  if (before === undefined && after.name === 'user') {
    return [
      {
        error: new ConflictError('domain `user` cannot be made: its services would have the names of users'),
        path: ['domain'],
      },
    ];
  }
  if (after.name !== systemDomain || after.enabled || before?.enabled === false) return [];
  return [{ error: new ConflictError(`domain \`${systemDomain}\` cannot be disabled`), path: ['enabled'] }];
}

/** The services of a domain below `user` would be covered by members that mean users. */
function userServiceFaults(before: DomainContent | undefined, after: DomainContent): SafeguardFault[] {
  if (!isBelowUser(after.name)) return [];
  const known = new Set(before?.services.map(({ name }) => name));
  const text = `domain \`${after.name}\` cannot have services: members such as \`user.*\` mean users`;
  return after.services
    .filter(({ name }) => !known.has(name))
    .map(({ name }) => ({ error: new ConflictError(text), path: ['services', name] }));
}

/** Every assertion needs a role that it can name. */
function assertionFaults(before: DomainContent | undefined, after: DomainContent): SafeguardFault[] {
  const rolesAfter = new Set(after.roles.map(({ name }) => name));
  const losesRoles = before?.roles.some(({ name }) => !rolesAfter.has(name)) === true;
  const known = before === undefined ? [] : losesRoles ? orphans(before) : spokenOf(before);
  const texts = new Set(known.map(({ text }) => text));
  // What was read and is left as it is names nothing new.
  const same = new Set(losesRoles ? [] : before?.policies);
  const policies = after.policies.filter((policy) => !same.has(policy));
  return orphans({ ...after, policies }, texts).map(({ text, name }) => ({
    error: new ConflictError(`${text}, which would not exist`),
    path: ['policies', name],
  }));
}

/** The roles that each policy names, each once: a policy may have tens of thousands of assertions for it. */
function spokenOf({ policies }: DomainContent) {
  return policies.flatMap(({ name, version, assertions }) =>
    [...new Set(assertions.map(({ role }) => role))].map((role) => ({
      name,
      role,
      text: `policy \`${name}\` version \`${version}\` names \`${role}\``,
    })),
  );
}

/** Of that the roles that are not there, but for what is known. */
function orphans(content: DomainContent, known: ReadonlySet<string> = new Set()) {
  const names = new RoleNames(content.roles.map(({ name }) => fullRoleName(content.name, name)));
  return spokenOf(content).filter(({ text, role }) => !known.has(text) && !names.has(role));
}

/** The full names of groups that a change removes. */
export function lostGroups(before: DomainContent | undefined, after: DomainContent): string[] {
  const left = new Set(after.groups.map(({ name }) => name));
  const lost = (before?.groups ?? []).filter(({ name }) => !left.has(name));
  return lost.map(({ name }) => `${after.name}:group.${name}`);
}

/** Roles of the domain itself whose group goes away under them. */
function ownGroupFaults(before: DomainContent | undefined, after: DomainContent): SafeguardFault[] {
  const lost = lostGroups(before, after);
  if (lost.length === 0) return [];
  const users = new Map(
    after.roles.toReversed().flatMap((role) => role.members.map(({ name }) => [name, role] as const)),
  );
  return lost.flatMap((full) => {
    const user = users.get(full);
    if (user === undefined) return [];
    const error = new ConflictError(`role \`${user.name}\` has the group \`${full}\``);
    return [{ error, path: ['roles', user.name, 'members', full] }];
  });
}
