import type { DomainSnapshot } from '../snapshot/snapshot.ts';

/** A bundle is issued again after this part of its life. */
const issuesPerLife = 7;

/** Part of a domain that determines its grid of issues. */
type IssuedDomain = Pick<DomainSnapshot, 'name' | 'policyModified'>;

/**
 * The `issued` time of a bundle: the last point of the domain's grid, a seventh of its life apart, or the time of the domain's last change
 * when that is later. So every process and every server makes the same payload, and each is replaced long before it expires. The grids of
 * domains are shifted by a hash of their names: hosts download them spread over that time, and never all at once.
 */
export function issuedAt(now: number, domain: IssuedDomain, lifetimeMs: number): number {
  return Math.max(pointBefore(now, domain, lifetimeMs), domain.policyModified);
}

/** The last point of the domain's grid. */
function pointBefore(now: number, { name }: Pick<IssuedDomain, 'name'>, lifetimeMs: number): number {
  const step = stepOf(lifetimeMs);
  const shift = Math.floor(shareOf(name) * step);
  return Math.floor((now - shift) / step) * step + shift;
}

/** Span from the last point of the domain's grid to the next one: bundles issued in between have the same time. */
export function gridSpan(
  now: number,
  domain: Pick<IssuedDomain, 'name'>,
  lifetimeMs: number,
): { readonly from: number; readonly until: number } {
  const from = pointBefore(now, domain, lifetimeMs);
  return { from, until: from + stepOf(lifetimeMs) };
}

function stepOf(lifetimeMs: number): number {
  return Math.floor(lifetimeMs / issuesPerLife);
}

/** Share from 0 to 1, evenly over all names (FNV-1a of 32 bits, and a last mixing, as names differ at their ends). */
function shareOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
