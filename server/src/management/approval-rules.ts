import { type DomainName, foldAscii, fullRoleName, type PrincipalName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { ConflictError } from '../errors.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { RoleFields } from '../model/records.ts';
import { isUser } from '../snapshot/snapshot.ts';
import type { ChangeFault, ChangeRule } from './change-rule.ts';
import { newReferences } from './new-references.ts';
import { activeAssertions, isAbout, reviewedGrants } from './requests/reviewed-grants.ts';
import { assumptions } from './requests/touched-roles.ts';
import { adminRole } from './rights.ts';
import { administrators } from './safeguards.ts';
import { StoreAfter } from './store-after.ts';

/* Rules that keep approvals from being passed by: who enters a protected role from another domain, and who is there to approve. */

/** A group of another domain, or trust in one, enters a role only if changes of that domain need as many approvals. */
export const protectedMembers: ChangeRule = async (change, { after }) => {
  const faults: ChangeFault[] = [];
  const roles = new Map(
    change.roles.flatMap((role) => (role.after === undefined ? [] : [[role.after.name, role.after]])),
  );
  for (const { domain, group, path } of newReferences(change)) {
    const role = roles.get(path[1] as RoleFields['name']);
    if (domain === change.name || role === undefined) continue;
    const needed = await approvalsOfRole(change.name, role, after);
    if (needed === 0 || (await after.approvals(domain)) >= needed) continue;
    const what = group === undefined ? `trust in \`${domain}\`` : `group \`${group}\``;
    const error = new ConflictError(
      `${what} may not enter role \`${fullRoleName(change.name, role.name)}\`, which needs ${needed} by \`approvals\`: set \`approvals\` of domain \`${domain}\` to ${needed} first`,
    );
    faults.push({ error, path });
  }
  return faults;
};

/**
 * Approvals that a change of who is in a role needs: the most of its own, those of its domain, and of what its members may do: assume other roles,
 * or change the domain without approval.
 */
export async function approvalsOfRole(
  domain: DomainName,
  role: Pick<RoleFields, 'name' | 'approvals'>,
  after: Pick<StoreAfter, 'approvals' | 'protectedRoles' | 'policies'>,
): Promise<number> {
  const own = Math.max(role.approvals ?? 0, await after.approvals(domain));
  const others = (await after.protectedRoles(domain)).filter(({ approvals }) => approvals > own);
  if (others.length === 0) return own;
  const full = fullRoleName(domain, role.name);
  const assertions = activeAssertions(await after.policies(domain)).filter((one) => isAbout(one, full));
  const actsAlone = reviewedGrants(domain, assertions).length > 0;
  const assumed = assumptions(assertions).map(({ resource }) => foldAscii(resource));
  const isAssumed = (name: string) => assumed.some((pattern) => matchesPattern(pattern, name));
  const reached = others.filter(({ name }) => actsAlone || isAssumed(fullRoleName(domain, name)));
  return Math.max(own, ...reached.map(({ approvals }) => approvals));
}

/** The role `admin` keeps one person more than the approvals that something in the domain needs, without an expiry: nobody approves alone. */
export const enoughApprovers: ChangeRule = async (change, { reader, after, now }) => {
  const raised = raisedApprovals(change);
  const touchesAdmins =
    change.groups.length > 0 || change.roles.some((role) => (role.after ?? role.before)?.name === adminRole);
  if (raised === undefined && !touchesAdmins) return [];
  const { name } = change;
  const all = (await after.protectedRoles(name)).map(({ approvals }) => approvals);
  const approvals = Math.max(await after.approvals(name), ...all);
  if (approvals === 0) return [];
  const persons = await lastingPersons(after, name, now);
  if (persons > approvals) return [];
  if (raised === undefined && persons >= (await lastingPersons(new StoreAfter(reader, []), name, now))) return [];
  const text = `role \`${adminRole}\` must keep ${approvals + 1} persons (\`user.<name>\`) without \`expires\`, one more than \`approvals\`; it would have ${persons}`;
  return [{ error: new ConflictError(text), path: raised ?? ['roles', adminRole, 'members'] }];
};

/** Path of the first `approvals` that a change raises. */
export function raisedApprovals({ before, after, roles }: DomainChange): readonly string[] | undefined {
  if ((after.approvals ?? 0) > (before?.approvals ?? 0)) return ['approvals'];
  const role = roles.find((one) => (one.after?.approvals ?? 0) > (one.before?.approvals ?? 0));
  return role?.after === undefined ? undefined : ['roles', role.after.name, 'approvals'];
}

/** How many persons are administrators of the domain without an expiry. */
async function lastingPersons(store: StoreAfter, domain: DomainName, now: number): Promise<number> {
  const persons = new Set<string>();
  for await (const { name, expires } of administrators(store, domain, now)) {
    if (expires === undefined && isUser(name as PrincipalName) && !name.endsWith('*')) persons.add(name);
  }
  return persons.size;
}
