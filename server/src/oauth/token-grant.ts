import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { NoGrantedRolesError } from '../errors.ts';
import { type Compared, grantedAmong, heldRoles, type Moment, stepsARole } from '../roles/granted-roles.ts';
import { aSecondOn, heldUntil } from '../roles/held-until.ts';
import type { DomainSnapshot, RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { accessTokenLife, type LifetimeBounds } from './lifetimes.ts';
import type { RequestedScope } from './scope.ts';

/** Principal that asks, and the domain whose roles it asks for. */
interface Asker {
  readonly snapshot: Snapshot;
  readonly domain: DomainSnapshot;
  readonly principal: PrincipalName;
}

interface GrantRequest {
  readonly scope: RequestedScope;
  readonly requestedSeconds: number | undefined;
  readonly compared: Compared | undefined;
}

/** Roles of a token, sorted by name, and its times in seconds. */
interface TokenGrant {
  readonly roles: readonly RoleSnapshot[];
  /** Seconds since the epoch. */
  readonly now: number;
  /** Seconds; at least 1. */
  readonly lifeSeconds: number;
}

/**
 * The held roles that a scope asks for, and the life of a token for them, which ends with the first of them at the latest. A role that ends
 * within a second is not granted. Throws `NoGrantedRolesError` when there are none.
 */
export function grantRoles(
  { bounds, clock }: { readonly bounds: LifetimeBounds; readonly clock: Clock },
  { snapshot, domain, principal }: Asker,
  { scope, requestedSeconds, compared }: GrantRequest,
): TokenGrant {
  const now = epochSeconds(clock);
  let hasEnd = false;
  const onEnd = () => {
    hasEnd = true;
  };
  const roles = rolesToGrant(snapshot, domain, principal, { scope, now: aSecondOn(clock), compared, onEnd });
  const lifeSeconds = accessTokenLife(requestedSeconds, bounds, roles, domain.limits.tokenExpirySeconds);
  // Fast path: no membership by which a role is held has an end.
  if (!hasEnd) return { roles, now, lifeSeconds };
  const asked = new Set(roles.map(({ name }) => name));
  const areHeld = (at: number) => {
    compared?.(roles.length * stepsARole);
    return grantedAmong(snapshot, domain, principal, { asked, now: at, compared }).length === roles.length;
  };
  return { roles, now, lifeSeconds: heldUntil(areHeld, now, now + lifeSeconds) - now };
}

function rolesToGrant(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  { scope, ...moment }: Moment & { readonly scope: RequestedScope },
): readonly RoleSnapshot[] {
  const granted =
    scope.kind === 'all-roles'
      ? heldRoles(snapshot, domain, principal, moment)
      : grantedAmong(snapshot, domain, principal, { asked: scope.roles, ...moment });
  if (granted.length === 0) throw new NoGrantedRolesError(scope.domain, { detail: { principal } });
  return granted;
}
