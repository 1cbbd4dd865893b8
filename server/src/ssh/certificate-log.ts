import { hash } from 'node:crypto';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { PathElement, PrincipalName } from '@signet/policy-engine/names';
import type { CertificateRow, RecordingConditions } from '../model/certificate-store.ts';
import type { SshCertificateKind } from './ssh-profile.ts';

/** Record of an SSH certificate, from before it exists. Times in seconds since the epoch. */
export interface SshCertificateRecord {
  readonly kind: SshCertificateKind;
  readonly serial: bigint;
  readonly keyId: string;
  /** Owner: the only principal beside an operator who may revoke it. */
  readonly owner: PrincipalName;
  /** Provider, for a host that is an instance. */
  readonly provider: PrincipalName | undefined;
  readonly instanceId: PathElement | undefined;
  readonly askingSerial: string;
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
  /** The certificate of that number was signed and checked; `blob` is it. Throws what the conditions throw. */
  issued(serial: bigint, blob: Uint8Array, conditions: RecordingConditions): Promise<void>;
}

/** A row of an SSH certificate among those of X.509. */
interface SshCertificateRow extends Omit<CertificateRow, 'kind'> {
  readonly kind: CertificateRow['kind'] | 'ssh-user' | 'ssh-host';
}

/** The part of the certificate store that is used here. */
interface SshCertificateRows {
  intend(row: SshCertificateRow, at: number): Promise<void>;
  confirm(serial: string, fingerprint: string, conditions: RecordingConditions): Promise<void>;
}

/** The serial number as rows hold it: sixteen hexadecimal digits. */
export function rowSerial(serial: bigint): string {
  return serial.toString(16).padStart(16, '0');
}

/** Keeps the record in the certificate store. The issuer of a row is the fingerprint of the authority. */
export function certificateLogIn(rows: SshCertificateRows, clock: Clock): CertificateLog {
  return {
    intend: (record) =>
      rows.intend(
        {
          serial: rowSerial(record.serial),
          issuer: record.authorityKey,
          kind: `ssh-${record.kind}`,
          subject: record.keyId,
          holder: record.owner,
          provider: record.provider,
          instanceId: record.instanceId,
          askingSerial: record.askingSerial,
          notBefore: record.validAfter,
          notAfter: record.validBefore,
        },
        epochSeconds(clock),
      ),
    issued: (serial, blob, conditions) =>
      rows.confirm(rowSerial(serial), hash('sha256', blob, 'base64url'), conditions),
  };
}
