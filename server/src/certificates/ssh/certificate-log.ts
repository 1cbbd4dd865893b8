import type { PathElement, PrincipalName } from '@signet/policy-engine/names';
import type { SshCertificateKind } from './profile.ts';

/** What is recorded of an SSH certificate, from before it exists. Times in seconds since the epoch. */
export interface SshCertificateRecord {
  readonly kind: SshCertificateKind;
  readonly serial: bigint;
  readonly keyId: string;
  /** Whose it is: the only one beside an operator who may revoke it. */
  readonly owner: PrincipalName;
  readonly instanceId: PathElement | undefined;
  readonly principals: readonly string[];
  /** Fingerprints of the key that is certified and of the authority that signs. */
  readonly subjectKey: string;
  readonly authorityKey: string;
  readonly validAfter: number;
  readonly validBefore: number;
}

/** The record of what was issued. `intend` is durable before it answers, so that no certificate can exist without a row. */
export interface CertificateLog {
  intend(record: SshCertificateRecord): Promise<void>;
  /** The certificate was signed and checked. Both fields name the row. */
  issued(record: Pick<SshCertificateRecord, 'authorityKey' | 'serial'>): Promise<void>;
}
