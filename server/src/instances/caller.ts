import type { PrincipalName } from '@signet/policy-engine/names';

/** The certificate that a caller presented and that was verified. */
interface PresentedCertificate {
  /** Lower-case hexadecimal. */
  readonly serial: string;
  /** Milliseconds since the epoch, as the next. */
  readonly issuedAt: number;
  readonly notAfter: number;
  readonly der: Buffer;
}

/** Caller that requests a certificate, and its address. */
export interface Caller {
  readonly principal: PrincipalName;
  readonly certificate: PresentedCertificate;
  /** The address of the connection, as text. */
  readonly address: string;
  /** Request id for the audit log. */
  readonly requestId: string;
}
