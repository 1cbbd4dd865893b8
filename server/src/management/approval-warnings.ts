import { type DomainName, fullRoleName, type GroupName, type RoleName } from '@signet/policy-engine/names';
import { givesExactly } from '../access/exact-access.ts';
import { type DomainChange, listName } from '../model/domain-change.ts';
import type { AssertionRecord, MemberRecord, RoleFields } from '../model/records.ts';
import { approvalsOfRole, raisedApprovals } from './approval-rules.ts';
import type { Sees } from './change-rule.ts';
import { approvalActions } from './requests/reviewed-actions.ts';
import { activeAssertions, isAbout } from './requests/reviewed-grants.ts';
import type { StoreAfter } from './store-after.ts';

/* Warnings about approvals that a change raises: who passes them by, and what they do not protect. Nothing is refused for them. */

/** Members that a warning names of each role; the others are counted. */
const maxNamedMembers = 10;

interface ApprovalWarning {
  readonly message: string;
  /** Path in the document of the domain. */
  readonly path: readonly string[];
}

interface ApprovalFacts {
  readonly after: StoreAfter;
  readonly sees: Sees;
}

/** Warnings for the author of a change that raises `approvals` of a domain or of roles; none for other changes. */
export async function approvalWarnings(
  change: DomainChange,
  { after, sees }: ApprovalFacts,
): Promise<readonly ApprovalWarning[]> {
  const path = raisedApprovals(change);
  if (path === undefined) return [];
  const policies = activeAssertions(await after.policies(change.name));
  const holders = await holdersOf(change.name, policies, { after, sees });
  return [
    ...partlyProtected(change),
    ...holders.map((message) => ({ message, path })),
    ...(await foreignWarnings(change, { after, sees })).map((message) => ({ message, path })),
  ];
}

/** Roles with approvals in a domain without. */
function partlyProtected({ after, roles }: DomainChange): ApprovalWarning[] {
  if ((after.approvals ?? 0) > 0) return [];
  return roles
    .filter((role) => (role.after?.approvals ?? 0) > (role.before?.approvals ?? 0))
    .map((role) => ({
      message: `\`approvals\` of role \`${listName(role)}\` protect who is in it; what it may do is protected by \`approvals\` of the domain, which has none`,
      path: ['roles', listName(role), 'approvals'],
    }));
}

/** Sentences about those who may approve, or change the domain without approval. */
async function holdersOf(
  domain: DomainName,
  assertions: readonly AssertionRecord[],
  { after, sees }: ApprovalFacts,
): Promise<readonly string[]> {
  const roles = await after.listNames(domain, 'role');
  const found: string[] = [];
  for (const action of approvalActions) {
    const objects = ['domain', ...(action === 'approve_changes' ? roles.map((role) => `role.${role}`) : [])];
    const grants = assertions.filter((one) =>
      objects.some((object) => givesExactly(one, action, `${domain}:${object}`)),
    );
    for (const role of roles) {
      const full = fullRoleName(domain, role);
      if (!grants.some((one) => isAbout(one, full))) continue;
      const members = sees(domain, `role.${role}`) ? `: ${await membersText(domain, role, after)}` : '';
      found.push(`role \`${full}\` holds \`${action}\`${members}`);
    }
  }
  return found;
}

async function membersText(domain: DomainName, role: RoleName, after: StoreAfter): Promise<string> {
  const names: string[] = [];
  let total = 0;
  for await (const page of after.members({ kind: 'role', domain, name: role })) {
    total += page.length;
    names.push(...page.slice(0, maxNamedMembers - names.length).map(({ name }) => `\`${name}\``));
  }
  const more = total > names.length ? ` and ${total - names.length} more` : '';
  return total === 0 ? 'nobody' : `${names.join(', ')}${more}`;
}

/** Sentences about groups and trust of other domains, whose changes need fewer approvals than the roles that they are in. */
async function foreignWarnings(change: DomainChange, { after, sees }: ApprovalFacts): Promise<readonly string[]> {
  const { name } = change;
  const texts = new Set<string>();
  let hidden = 0;
  for await (const { role, domain, group } of foreignIn(name, after)) {
    const needed = await approvalsOfRole(name, role, after);
    if ((await after.approvals(domain)) >= needed) continue;
    if (group !== undefined && !sees(domain, `group.${group}`)) hidden += 1;
    else {
      const what = group === undefined ? `trusts domain \`${domain}\`` : `lists \`${domain}:group.${group}\``;
      const full = fullRoleName(name, role.name);
      texts.add(`role \`${full}\` ${what}, which changes with fewer than ${needed} approvals`);
    }
  }
  const others = `roles list ${hidden} groups that you may not look at, which change with fewer approvals`;
  return hidden === 0 ? [...texts] : [...texts, others];
}

interface Foreign {
  readonly role: RoleFields;
  readonly domain: DomainName;
  /** Absent: the role trusts the domain. */
  readonly group?: GroupName;
}

/** The groups of other domains in the roles of the domain, and the domains that these trust. */
async function* foreignIn(name: DomainName, after: StoreAfter): AsyncGenerator<Foreign> {
  for (const listed of await after.listNames(name, 'role')) {
    const key = { kind: 'role', domain: name, name: listed } as const;
    const role = await after.role(key);
    if (role === undefined) continue;
    if (role.trust !== undefined && role.trust !== name) yield { role, domain: role.trust };
    for await (const page of after.members(key)) yield* foreignGroups(page, role, name);
  }
}

function* foreignGroups(members: readonly MemberRecord[], role: RoleFields, own: DomainName): Generator<Foreign> {
  for (const member of members) {
    // Parsed with the member.
    const [domain, group] = member.name.split(':group.') as [DomainName, GroupName?];
    if (group !== undefined && domain !== own) yield { role, domain, group };
  }
}
