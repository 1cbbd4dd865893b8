import { type DomainName, foldAscii, fullRoleName, type PrincipalName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { type Compared, grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type AuthorityAction, type AuthorityAssertion, authorityAction, isExact } from './authority.ts';
import { checkAccess } from './check-access.ts';

interface ExactQuery {
  readonly principal: PrincipalName;
  readonly action: AuthorityAction;
  readonly domain: DomainName;
  /** Object of the domain: `certificate`, `role.publisher`. */
  readonly object: string;
}

/**
 * True if the policy of the domain grants an action of the server by its name. INVARIANT: only an ALLOW without conditions that writes action
 * and resource without wildcards gives it, so that no older rule with a wildcard grants it by accident; any DENY counts.
 */
export function grantsExactly(snapshot: Snapshot, query: ExactQuery, now: number, compared: Compared): boolean {
  const { principal, action, object } = query;
  const domain = snapshot.domain(query.domain);
  if (domain === undefined) return false;
  const resource = `${domain.name}:${object}`;
  if (!exactActions(domain).has(action)) return false;
  const { granted, work } = checkAccess(snapshot, { principal, action: authorityAction(action), resource }, now);
  compared(work);
  return granted && isWritten(snapshot, domain, { principal, action, resource }, now);
}

const known = new WeakMap<DomainSnapshot, ReadonlySet<string>>();

/** Actions that assertions of the domain write without wildcards and without conditions, of those asked for exactly; computed once. */
function exactActions(domain: DomainSnapshot): ReadonlySet<string> {
  const found =
    known.get(domain) ??
    new Set(
      domain.policies.flatMap(({ active, assertions }) =>
        active === false ? [] : assertions.filter(isExactAllow).map(({ action }) => foldAscii(action)),
      ),
    );
  known.set(domain, found);
  return found;
}

function isWritten(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  { principal, action, resource }: Pick<ExactQuery, 'principal' | 'action'> & { readonly resource: string },
  now: number,
): boolean {
  const held = grantedRoles(snapshot, domain, principal, now).map(({ name }) => fullRoleName(domain.name, name));
  const gives = (one: ExactAssertion & { readonly role: string }) =>
    givesExactly(one, action, resource) && held.some((role) => matchesPattern(foldAscii(one.role), role));
  return domain.policies.some(({ active, assertions }) => active !== false && assertions.some(gives));
}

function isExactAllow(one: ExactAssertion): boolean {
  return one.effect !== 'DENY' && one.conditions === undefined && isExact(one);
}

type ExactAssertion = AuthorityAssertion & { readonly conditions?: unknown };

/** True if an assertion can give an action of the server by its name: an ALLOW without conditions that writes action and resource. */
export function givesExactly(one: ExactAssertion, action: AuthorityAction, resource: string): boolean {
  return isExactAllow(one) && foldAscii(one.action) === action && foldAscii(one.resource) === resource;
}
