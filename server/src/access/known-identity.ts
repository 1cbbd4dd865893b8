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
 * True if a certificate was issued before credentials of its name are valid (both in milliseconds). Certificates have seconds; earlier ones of
 * the same second were revoked with the name.
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

/** True if a service or user may act at all. */
export function isKnownIdentity(name: PrincipalName, snapshot: Snapshot): boolean {
  const state = principalState(snapshot, name);
  return state === 'active' || (state === 'unknown' && isUser(name));
}

/**
 * Second check before something is handed out to a caller who was known when it asked: the present holder of the name may be another one than
 * that of the certificate, issued at `issuedAt` (milliseconds). Throws `UnauthenticatedError`.
 */
export function requireKnownIdentity(name: PrincipalName, snapshot: Snapshot, issuedAt?: number): void {
  if (!isKnownIdentity(name, snapshot)) {
    throw new UnauthenticatedError(
      'client certificate names no enabled service: its domain must have the service, enabled',
      { detail: { claimed: name } },
    );
  }
  if (issuedAt !== undefined) requireOwnTime(name, issuedAt, credentialsOf(name, snapshot));
}
