import type { KeyId, PathElement, PrincipalName } from '@signet/policy-engine/names';
import type { SnapshotSource } from './snapshot-source.ts';

/** A certificate as the store keeps it. Times in seconds since the epoch. */
export interface CertificateRow {
  /** Lower-case hexadecimal. */
  readonly serial: string;
  /** The issuer's id. */
  readonly issuer: string;
  readonly kind: CertificateKind;
  /** The common name: `domain.service` or `domain:role.name`. */
  readonly subject: string;
  /** Holder: the subject, and for a role certificate the principal that holds the role. */
  readonly holder: PrincipalName;
  /** Provider, for an instance's certificate. */
  readonly provider?: PrincipalName | undefined;
  readonly instanceId?: PathElement | undefined;
  /** Key that proved the request for a service's certificate, which ends with it. */
  readonly vouchedKey?: KeyId | undefined;
  /** Serial number of the X.509 certificate that asked for an SSH certificate, or for a role certificate of a person, which ends with it. */
  readonly askingSerial?: string | undefined;
  readonly askedBy?: AskedBy | undefined;
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Who asked for a certificate: these names, or whoever asked for the certificate that authenticated the request, or who made the join token. A
 * person who logs in asks for the own certificate. Absent: not known, as for the first certificates of a server.
 */
export type AskedBy =
  | { readonly names: readonly string[] }
  | { readonly certificate: string }
  | { readonly joinToken: string };

type CertificateState = 'intended' | 'issued';

export interface CertificateRecord extends CertificateRow {
  readonly state: CertificateState;
  /** Who asked for it (`AskedBy`); empty where that is not known. */
  readonly askers: readonly string[];
  /** SHA-256 of the certificate in DER, base64url; once it is issued. */
  readonly fingerprint?: string | undefined;
  readonly revoked?: RevokedCertificate | undefined;
}

/** A revocation as it travels to every server: `sequence` only grows. */
export interface RevocationRow extends RevokedCertificate {
  readonly sequence: number;
  readonly issuer: string;
  /** SHA-256 of the certificate in DER, base64url; absent for one that was never handed out. */
  readonly fingerprint?: string | undefined;
  /** Seconds since the epoch; afterwards the row is of no interest. */
  readonly notAfter: number;
}

export interface Revocation {
  readonly reason: RevocationReason;
  /** Seconds since the epoch. */
  readonly at: number;
  /** Revoker: a principal, or a rule of the server. */
  readonly by: string;
}

/**
 * Conditions that must hold in the transaction that records a certificate as issued. They are checked there, not before: a right that was
 * removed by then, by whichever server, gives nothing.
 */
export interface RecordingConditions {
  /** The serial number of the certificate that asked; one that is revoked by then gives nothing. */
  readonly presented?: string | undefined;
  /** Throws when the right is not there as `source` reads the store. */
  readonly decide: (source: SnapshotSource) => Promise<unknown>;
}

/** Certificate that was signed for a principal, on the word of another principal or of a token: the part that the store keeps. */
export interface RecordedCertificate {
  readonly serial: string;
  /** SHA-256 of the certificate in DER, base64url. */
  readonly fingerprint: string;
  readonly principal: PrincipalName;
  /** The serial number of the certificate that asked; one that is revoked by then gives nothing. */
  readonly presented?: string | undefined;
  /** The token that asked, by its digest: it counts once. `expires` in seconds since the epoch. */
  readonly token?: { readonly digest: string; readonly expires: number } | undefined;
  /** Details of the audit record beside the serial number. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Store for the issuing of certificates. A certificate is signed only after its intent is on disk, so there is none without a row. Every method
 * throws `StoreUnavailableError` when the store cannot be written or read.
 */
export interface CertificateStore {
  /** Records that a certificate with this serial number is about to be signed. Throws `ConflictError` when the serial exists. */
  intend(row: CertificateRow, at: number): Promise<void>;
  /**
   * Records that it was signed; the last step before it is handed out. Throws what the conditions throw, and `ForbiddenError` when it
   * was revoked meanwhile: then it must not be handed out.
   */
  confirm(serial: string, fingerprint: string, conditions?: RecordingConditions): Promise<void>;
  find(serial: string): Promise<CertificateRecord | undefined>;
  /** X.509 certificates of a holder, those that end last first. */
  ofHolder(query: HolderQuery): Promise<readonly CertificateRecord[]>;
  /** Revocations after `sequence` of certificates that have not expired at `now` (seconds), in their order. */
  revocationsAfter(sequence: number, now: number): Promise<readonly RevocationRow[]>;
  /** The place and the time (seconds) of the last revocation; 0 when there was none. */
  lastRevocation(): Promise<{ readonly sequence: number; readonly at: number }>;
  /** Intents older than `before` (seconds) that were never confirmed: certificates that may exist and were never handed out. */
  orphans(before: number): Promise<readonly CertificateRow[]>;
  /**
   * Number of X.509 certificates of each issuer that are in force at `now` (seconds), and when the last one ends. Those of `besides` are not
   * counted: the caller knows which of them is in use.
   */
  outstanding(now: number, besides: PrincipalName): Promise<readonly OutstandingCertificates[]>;
  /** Forgets at most `limit` certificates that ended before (seconds), and an instance with the last of its own; answers how many. */
  prune(endedBefore: number, limit: number): Promise<number>;
  /** Revoked certificates of an issuer that expired at `from` (seconds) or later, and before `before`. */
  endedRevocations(issuer: string, from: number, before: number): Promise<readonly RevokedCertificate[]>;
  /** The last list of an issuer that was published, by whichever server; without its bytes when its number is `known`. */
  lastCrl(issuer: string, known?: number): Promise<LastCrl | undefined>;
  /** Publishes a list in the place of the one with the number `after`, or as the first one. False, and nothing, when that is not the last one. */
  publishCrl(issuer: string, crl: PublishedCrl, after: number | undefined): Promise<boolean>;
}

export interface HolderQuery {
  readonly holder: PrincipalName;
  /** Only those that are valid at this time (seconds): handed out, not expired and not revoked. */
  readonly validAt?: number;
  /** Only those that were issued from this time on (seconds). */
  readonly issuedFrom: number;
  /** Only those behind this one. */
  readonly after?: Pick<CertificateRow, 'notAfter' | 'serial'>;
  readonly limit: number;
}

/** Certificates of an issuer that have not expired and were not revoked. */
export interface OutstandingCertificates {
  readonly issuer: string;
  readonly count: number;
  /** Seconds since the epoch. */
  readonly lastEnd: number;
}

/** A revocation list that was published. Times in seconds since the epoch. */
export interface PublishedCrl {
  /** Greater than that of the list before (RFC 5280 §5.2.3). */
  readonly number: number;
  /** The last revocation that it knows. */
  readonly sequence: number;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  readonly der: Buffer;
}

/** The same as the store has it; a store that went back to an earlier state keeps no bytes. */
export type LastCrl = Omit<PublishedCrl, 'der'> & Partial<Pick<PublishedCrl, 'der'>>;

/** Reasons of revocation (RFC 5280 §5.3.1), as far as Signet distinguishes them. */
export const revocationReasons = [
  'unspecified',
  'key-compromise',
  'affiliation-changed',
  'superseded',
  'cessation-of-operation',
] as const;

export type RevocationReason = (typeof revocationReasons)[number];

/** Revocation of one certificate. */
export interface RevokedCertificate {
  /** Hexadecimal. */
  readonly serial: string;
  /** Seconds since the epoch. */
  readonly revokedAt: number;
  readonly reason: RevocationReason;
}

/** Purpose of a certificate: an instance of a service, a service itself, a role of a principal, or a person. */
export const x509Kinds = ['instance', 'service', 'role', 'user'] as const;

export type CertificateKind = (typeof x509Kinds)[number];
