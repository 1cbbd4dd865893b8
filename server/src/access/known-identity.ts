import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { UnauthenticatedError } from '../errors.ts';
import { isUser, principalState, type Snapshot } from '../snapshot/snapshot.ts';

export function requireOwnTime(claimed: string, issuedAt: number, from: number): void {
  if (!isOfPredecessor(issuedAt, from)) return;
  throw new UnauthenticatedError('client certificate is of a deleted service or domain of the same name', {
    detail: { claimed },
  });
}

/**
 * Whether a certificate was issued before credentials of its name count (both in milliseconds). Certificates tell the second; those of
 * the same second that were given to the name before were revoked with it.
 */
export function isOfPredecessor(issuedAt: number, from: number): boolean {
  return issuedAt < Math.floor(from / 1000) * 1000;
}

/** Since when credentials of a service count (milliseconds since the epoch): those issued before were given to another one of this name. */
export function credentialsOf(name: PrincipalName, snapshot: Snapshot): number {
  const parts = splitPrincipal(name);
  if (parts === undefined) return 0;
  return snapshot.domain(parts.domain)?.services.get(parts.service)?.credentialsFrom ?? 0;
}

/** Whether a service or user may act at all. */
export function isKnownIdentity(name: PrincipalName, snapshot: Snapshot): boolean {
  const state = principalState(snapshot, name);
  return state === 'active' || (state === 'unknown' && isUser(name));
}

/**
 * Asked again where something is about to be handed out to who was known when it asked: whoever has the name by then may be somebody
 * else than the holder of the certificate, issued at `issuedAt` (milliseconds). Throws `UnauthenticatedError`.
 */
export function requireKnownIdentity(name: PrincipalName, snapshot: Snapshot, issuedAt?: number): void {
  if (!isKnownIdentity(name, snapshot)) {
    throw new UnauthenticatedError('client certificate names no enabled service', { detail: { claimed: name } });
  }
  if (issuedAt !== undefined) requireOwnTime(name, issuedAt, credentialsOf(name, snapshot));
}
