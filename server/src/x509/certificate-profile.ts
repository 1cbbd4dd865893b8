import type { CertificateKind } from '../model/certificate-store.ts';
import type { AltName } from './subject-alt-names.ts';

/** Extended key usages: what the holder may be on a connection. */
export type CertificateUsage = 'client' | 'server' | 'both';

export type IssuedAltName = Exclude<AltName, { kind: 'other' }>;

/** Policy-determined content of a certificate. The key, the issuer and the serial number come beside it. */
export interface CertificateProfile {
  readonly kind: CertificateKind;
  readonly commonName: string;
  /** The relative names of the subject as they go into the certificate, the common name included. */
  readonly subject: readonly Uint8Array[];
  readonly altNames: readonly IssuedAltName[];
  readonly usage: CertificateUsage;
  /** Seconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** RFC 5280 appendix A, ub-common-name: longer common names are refused by much of the software that reads them. */
export const maxCommonNameLength = 64;

/** Lead of a certificate's start over its issue, for clocks that are behind. */
export const backdateSeconds = 3600;

/** Minimum life of a certificate: shorter ones are useless, as their issuer is about to expire. */
export const minLifetimeSeconds = 60;

export interface LifetimeLimits {
  /** Requested life; absent or 0: the default. */
  readonly requestedSeconds?: number | undefined;
  readonly defaultSeconds: number;
  /** Upper bounds of the server, the domain, the roles and the provider; those absent do not count. */
  readonly maxSeconds: readonly (number | undefined)[];
  /** Seconds since the epoch. */
  readonly issuerNotBefore: number;
  readonly issuerNotAfter: number;
}

/**
 * The life of a certificate in seconds since the epoch: as long as was asked for, lowered by each bound and by the issuer's own end,
 * and beginning an hour ago, yet not before the issuer. `now` in seconds.
 */
export function certificateLifetime(
  limits: LifetimeLimits,
  now: number,
): { readonly notBefore: number; readonly notAfter: number } {
  const asked = limits.requestedSeconds ?? 0;
  let life = asked > 0 ? asked : limits.defaultSeconds;
  for (const bound of limits.maxSeconds) {
    if (bound !== undefined && bound > 0 && bound < life) life = bound;
  }
  return {
    notBefore: Math.max(now - backdateSeconds, limits.issuerNotBefore),
    notAfter: Math.min(now + life, limits.issuerNotAfter),
  };
}
