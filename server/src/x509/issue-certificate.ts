import { hash } from 'node:crypto';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { KeyId, PathElement, PrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';
import type { AskedBy, CertificateKind, CertificateStore } from '../model/certificate-store.ts';
import { buildTbsCertificate, serialFrom, serialRandomOctets, signCertificate } from './build-certificate.ts';
import { type CertificateProfile, type CertificateUsage, certificateLifetime } from './certificate-profile.ts';
import { certificateToPem } from './certificate-reader.ts';
import type { GrantedNames } from './csr-rules.ts';
import { inspectCertificate } from './inspect-certificate.ts';
import type { Issuers } from './issuers.ts';
import { constraintFault } from './name-constraints.ts';
import type { SubjectKey } from './subject-key.ts';

export interface IssueDeps {
  readonly issuers: Pick<Issuers, 'signing'>;
  readonly certificates: Pick<CertificateStore, 'intend'>;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Buffer;
}

/** Policy's result about a certificate before an issuer is chosen. */
export interface CertificateOrder {
  readonly kind: CertificateKind;
  readonly names: GrantedNames;
  readonly subjectKey: SubjectKey;
  readonly usage: CertificateUsage;
  readonly requestedSeconds?: number | undefined;
  readonly defaultSeconds: number;
  readonly maxSeconds: readonly (number | undefined)[];
  /** Latest end, in seconds since the epoch. */
  readonly latest?: number | undefined;
  /** Holder of the certificate. */
  readonly holder: PrincipalName;
  readonly provider?: PrincipalName | undefined;
  readonly instanceId?: PathElement | undefined;
  readonly vouchedKey?: KeyId | undefined;
  /** Serial number of the certificate with which it is revoked. */
  readonly askingSerial?: string | undefined;
  readonly askedBy?: AskedBy | undefined;
}

/** A certificate that was signed and checked. Its row says `intended` until the caller confirms it. */
export interface SignedCertificate {
  readonly serial: string;
  /** The certificate alone, and the certificates that follow it up to the root without it; PEM. */
  readonly pem: string;
  readonly chainPem: string;
  /** SHA-256 of the DER, base64url. */
  readonly fingerprint: string;
  /** Seconds since the epoch. */
  readonly notAfter: number;
}

/**
 * Records the intent, signs, and checks what was signed, in this order: a process killed at any instant leaves no certificate
 * without a row. Throws `IssuerError` when no issuer is valid, `InvalidRequestError` for a name that the issuer may not certify,
 * `StoreUnavailableError`, `CertificateMismatchError`.
 */
export async function signOrder(deps: IssueDeps, order: CertificateOrder): Promise<SignedCertificate> {
  const now = epochSeconds(deps.clock);
  const issuer = deps.issuers.signing(now);
  const { kind, usage, requestedSeconds, defaultSeconds, maxSeconds, latest = issuer.notAfter } = order;
  const { notBefore, notAfter } = certificateLifetime(
    {
      requestedSeconds,
      defaultSeconds,
      maxSeconds,
      issuerNotBefore: issuer.notBefore,
      issuerNotAfter: Math.min(issuer.notAfter, latest),
    },
    now,
  );
  const { commonName, subject, altNames } = order.names;
  const profile: CertificateProfile = { kind, commonName, subject, altNames, usage, notBefore, notAfter };
  const fault = constraintFault(order.names, issuer.nameConstraints);
  if (fault !== undefined) throw new InvalidRequestError(fault);
  const serialOctets = serialFrom(deps.clock.now() / 1000, deps.randomBytes(serialRandomOctets));
  const serial = serialOctets.toString('hex');
  const { holder, provider, instanceId, vouchedKey, askingSerial, askedBy } = order;
  const whose = { subject: commonName, holder, provider, instanceId, vouchedKey, askingSerial, askedBy };
  await deps.certificates.intend({ ...whose, serial, issuer: issuer.id, kind, notBefore, notAfter }, now);

  const der = signCertificate(buildTbsCertificate(profile, order.subjectKey, issuer, serialOctets), issuer);
  inspectCertificate(der, { profile, subjectKey: order.subjectKey, issuer, serial });
  return {
    serial,
    pem: certificateToPem(der),
    chainPem: issuer.chainPem,
    fingerprint: hash('sha256', der, 'base64url'),
    notAfter: profile.notAfter,
  };
}
