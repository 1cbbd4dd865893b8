import { type ActionName, foldAscii, parseActionName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';

/** Rights on a domain; the names are actions of policies. */
export const rights = [
  'view_domain',
  'manage_domain',
  'manage_members',
  'manage_policies',
  'manage_services',
  'manage_keys',
] as const;
export type Right = (typeof rights)[number];

interface Authority {
  /** The kinds of objects on which the server asks for the action: `service` is `service` and `service.<name>`. Absent: on any. */
  readonly objects?: readonly string[];
  /** True if an assertion must name it: an action of wildcards alone does not grant it. */
  readonly byName?: boolean;
  /** Kinds of these objects for which an ALLOW must write action and resource without wildcards; one with wildcards gives nothing. */
  readonly exact?: readonly string[];
  /** True if its name has a meaning to the server alone. */
  readonly reserved?: boolean;
}

const managed: Authority = { objects: ['domain', 'role', 'group', 'policy', 'service'], byName: true, reserved: true };

const authorities = {
  view_domain: managed,
  manage_domain: managed,
  manage_members: managed,
  manage_policies: managed,
  manage_services: managed,
  manage_keys: managed,
  assume_role: { objects: ['role'], reserved: true },
  assume_aws_role: { byName: true },
  ssh_login: { objects: ['ssh'], reserved: true },
  launch: { objects: ['service', 'instance', 'dns', 'hostname', 'address'] },
  update: { objects: ['service'] },
  delete: { objects: ['instance'] },
  revoke: { objects: ['ssh', 'certificate'], exact: ['certificate'] },
  access_check: { objects: ['principal'], reserved: true },
  issue_certificate: { objects: ['principal'], reserved: true },
  approve_changes: { objects: ['domain', 'role'], exact: ['domain', 'role'], reserved: true },
  break_glass: { objects: ['domain'], exact: ['domain'], reserved: true },
  apply_reviewed: { objects: ['domain'], exact: ['domain'], reserved: true },
} satisfies Readonly<Record<Right, Authority>> & Readonly<Record<string, Authority>>;

/**
 * Actions that the server itself checks in policies: a holder of one gets identities, credentials, log-ins, or the management of domains. The
 * only list of them: checks use it (`authorityAction`), and so does the rule which actions delegates must not grant.
 */
export type AuthorityAction = keyof typeof authorities;

export const authorityActions = Object.keys(authorities) as readonly AuthorityAction[];

/** The action of a check of the server itself. */
export function authorityAction(name: AuthorityAction): ActionName {
  return parseActionName(name);
}

/** An assertion as far as its authority goes. */
export interface AuthorityAssertion {
  readonly effect?: 'ALLOW' | 'DENY';
  readonly action: string;
  readonly resource: string;
}

/** True if an assertion grants authority, or denies it: its patterns match a check of the server. */
export function bearsAuthority({ effect, action, resource }: AuthorityAssertion): boolean {
  const pattern = foldAscii(action);
  // Fast path: nearly always true, and saves comparing an assertion with each of them.
  if (!/[*?]/.test(pattern) && !Object.hasOwn(authorities, pattern)) return false;
  const isBare = /^[*?]*$/.test(pattern);
  return authorityActions.some((name) => {
    const { objects, byName = false, exact = [] }: Authority = authorities[name];
    if (!matchesPattern(pattern, name)) return false;
    // A DENY applies to everything that it matches, whichever principal is named.
    if (isBare && byName && (effect !== 'DENY' || objects === undefined)) return false;
    const mayGive = (kind: string) => effect === 'DENY' || !exact.includes(kind) || isExact({ action, resource });
    return objects === undefined || objects.some((kind) => mayBeOf(resource, kind) && mayGive(kind));
  });
}

/** True if an assertion writes its action and its resource without wildcards. */
export function isExact({ action, resource }: Pick<AuthorityAssertion, 'action' | 'resource'>): boolean {
  return !/[*?]/.test(action) && !/[*?]/.test(resource);
}

/** The kinds of objects on which the server asks for an action of its own, where the resource is of none of them; else undefined. */
export function unaskedObjects({ action, resource }: AuthorityAssertion): readonly string[] | undefined {
  const name = foldAscii(action);
  if (!Object.hasOwn(authorities, name)) return undefined;
  const { objects, reserved }: Authority = authorities[name as AuthorityAction];
  if (reserved !== true || objects === undefined) return undefined;
  return objects.some((kind) => mayBeOf(resource, kind)) ? undefined : objects;
}

/** True if a resource may be one of a kind; with wildcards, as far as the text before the first of them tells. */
export function mayBeOf(resource: string, kind: string): boolean {
  const entity = foldAscii(resource.slice(resource.indexOf(':') + 1));
  const [plain = ''] = entity.split(/[*?]/, 1);
  if (plain === entity) return entity === kind || entity.startsWith(`${kind}.`);
  return plain.startsWith(kind) || kind.startsWith(plain);
}
