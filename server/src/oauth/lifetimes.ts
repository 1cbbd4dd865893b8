import { InvalidRequestError } from '../errors.ts';
import type { RoleSnapshot } from '../snapshot/snapshot.ts';

/** The server's own bounds for access tokens, in seconds. */
export interface LifetimeBounds {
  readonly defaultExpirySeconds: number;
  /** Maximum for roles without a limit of their own in a domain without one. */
  readonly maxExpirySeconds: number;
  /** The most that limits of domains and roles may allow. */
  readonly longestExpirySeconds: number;
}

/** Life of an ID token in seconds (docs/reference/tokens.md#lifetimes). */
export const idTokenLifeSeconds = 3600;

/**
 * Seconds that an access token lives: what was asked for, or the default, lowered to the smallest limit that applies
 * (docs/reference/tokens.md#lifetimes). The limit of a role is its own, else that of the domain, else the ceiling of the server; that of
 * the domain holds beside those of the roles.
 */
export function accessTokenLife(
  requestedSeconds: number | undefined,
  bounds: LifetimeBounds,
  roles: readonly RoleSnapshot[],
  domainLimitSeconds: number | undefined,
): number {
  const ceiling = domainLimitSeconds ?? bounds.maxExpirySeconds;
  let limit = Math.min(domainLimitSeconds ?? bounds.longestExpirySeconds, bounds.longestExpirySeconds);
  // Without a role no limit was allowed explicitly.
  if (roles.length === 0) limit = Math.min(limit, ceiling);
  for (const { tokenExpirySeconds = ceiling } of roles) limit = Math.min(limit, tokenExpirySeconds);
  return Math.min(requestedSeconds ?? bounds.defaultExpirySeconds, limit);
}

/**
 * The seconds that a parameter asks for (docs/reference/tokens.md#lifetimes): digits only; 0 is as if absent, and a number too large to count
 * is lowered like any other large one. Throws `InvalidRequestError`.
 */
export function secondsOf(parameters: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new InvalidRequestError(`${name} must be a number of seconds in digits, such as 3600`);
  const seconds = Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  return seconds === 0 ? undefined : seconds;
}
