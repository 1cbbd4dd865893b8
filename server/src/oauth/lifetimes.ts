import type { RoleSnapshot } from '../snapshot/snapshot.ts';

/** The server's own bounds for access tokens, in seconds. */
export interface LifetimeBounds {
  readonly defaultExpirySeconds: number;
  readonly maxExpirySeconds: number;
}

/** Life of an ID token in seconds (interface document, Limits). */
export const idTokenLifeSeconds = 3600;

/** Seconds that an access token lives: what was asked for, or the default, lowered to the smallest limit that applies (decision 13). */
export function accessTokenLife(
  requestedSeconds: number | undefined,
  bounds: LifetimeBounds,
  roles: readonly RoleSnapshot[],
  domainLimitSeconds: number | undefined,
): number {
  let seconds = Math.min(requestedSeconds ?? bounds.defaultExpirySeconds, bounds.maxExpirySeconds);
  if (domainLimitSeconds !== undefined && domainLimitSeconds < seconds) seconds = domainLimitSeconds;
  for (const { tokenExpirySeconds } of roles) {
    if (tokenExpirySeconds !== undefined && tokenExpirySeconds < seconds) seconds = tokenExpirySeconds;
  }
  return seconds;
}
