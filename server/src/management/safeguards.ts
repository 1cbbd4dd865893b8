import { type DomainName, fullRoleName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { ConflictError, InvalidRequestError } from '../errors.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { DomainContent, MemberRecord } from '../store/records.ts';

/** Finds the stored domain that a change refers to. */
export type FindDomain = (name: DomainName) => Promise<DomainContent | undefined>;

export interface SafeguardOptions {
  /** Whether `*` and prefixes may become members. */
  readonly allowWildcard: boolean;
  readonly now: number;
  readonly find: FindDomain;
}

/**
 * Refuses changes that hurt: wildcard members that were not asked for by name, the last administrator taken away, references to
 * what is not there, rules left without their role. Looks only at what is new: what was there before may stay.
 */
export async function checkSafeguards(
  before: DomainContent | undefined,
  after: DomainContent,
  options: SafeguardOptions,
): Promise<void> {
  checkWildcards(before, after, options);
  checkAdministrators(before, after, options.now);
  checkRules(before, after);
  await checkReferences(before, after, options.find);
}

function newMembers(before: DomainContent | undefined, after: DomainContent): MemberRecord[] {
  return after.roles.flatMap((role) => {
    const old = before?.roles.find(({ name }) => name === role.name);
    const known = new Set(old?.members.map(({ name }) => name));
    return role.members.filter(({ name }) => !known.has(name));
  });
}

function checkWildcards(before: DomainContent | undefined, after: DomainContent, options: SafeguardOptions): void {
  const wildcard = newMembers(before, after).find(({ name }) => name.endsWith('*'));
  if (wildcard === undefined || options.allowWildcard) return;
  throw new InvalidRequestError(
    `\`${wildcard.name}\` covers more than one principal: ask for it with allowWildcard=true`,
  );
}

function administrators(content: DomainContent | undefined, now: number): number {
  const members = content?.roles.find(({ name }) => name === 'admin')?.members ?? [];
  return members.filter(({ disabled, expires }) => !disabled && (expires === undefined || expires > now)).length;
}

function checkAdministrators(before: DomainContent | undefined, after: DomainContent, now: number): void {
  if (administrators(before, now) > 0 && administrators(after, now) === 0) {
    throw new ConflictError(`domain \`${after.name}\` would be left without an administrator`);
  }
}

/** Every rule needs a role that it can speak of. */
function checkRules(before: DomainContent | undefined, after: DomainContent): void {
  const orphans = (content: DomainContent) => {
    const names = content.roles.map(({ name }) => fullRoleName(content.name, name));
    return content.policies.flatMap(({ name, version, assertions }) =>
      assertions
        .filter(({ role }) => !names.some((full) => matchesPattern(role, full)))
        .map(({ role }) => `policy \`${name}\` version \`${version}\` speaks of \`${role}\``),
    );
  };
  const known = new Set(before === undefined ? [] : orphans(before));
  const fresh = orphans(after).find((orphan) => !known.has(orphan));
  if (fresh !== undefined) throw new ConflictError(`${fresh}, which would not exist`);
}

async function checkReferences(
  before: DomainContent | undefined,
  after: DomainContent,
  find: FindDomain,
): Promise<void> {
  const known = new Set(before?.roles.map(({ trust }) => trust));
  for (const { trust } of after.roles) {
    if (trust === undefined || known.has(trust)) continue;
    if ((await find(trust)) === undefined) throw new ConflictError(`domain \`${trust}\` does not exist`);
  }
  for (const { name } of newMembers(before, after)) {
    const colon = name.indexOf(':');
    if (colon < 0) continue;
    // Parsed with the member.
    const owner = name.slice(0, colon) as DomainName;
    const domain = owner === after.name ? after : await find(owner);
    const exists = domain?.groups.some((group) => `${owner}:group.${group.name}` === name) === true;
    if (!exists) throw new ConflictError(`group \`${name}\` does not exist`);
  }
  const lost = before?.groups.find(({ name }) => !after.groups.some((group) => group.name === name));
  const full = `${after.name}:group.${lost?.name}`;
  const user = after.roles.find(({ members }) => members.some(({ name }) => name === full));
  if (lost !== undefined && user !== undefined)
    throw new ConflictError(`role \`${user.name}\` has the group \`${full}\``);
}

/** Throws `ConflictError` when another domain's role has the group, or trusts the domain. */
export function checkForeignUse(snapshot: Snapshot, domain: DomainName, group?: string): void {
  for (const { name, membership } of snapshot.domains.values()) {
    if (name === domain) continue;
    const used = group === undefined ? membership.groupDomains.includes(domain) : membership.groupRoles.has(group);
    if (used) throw new ConflictError(`domain \`${name}\` has a role with a group of \`${domain}\``);
    if (group === undefined && membership.trusting.has(domain)) {
      throw new ConflictError(`domain \`${name}\` has a role that trusts \`${domain}\``);
    }
  }
}
