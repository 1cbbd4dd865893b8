import type { KeyPurpose } from '@signet/policy-engine/wire';
import type { RevocationReason } from './model/certificate-store.ts';
import type { PoolUse } from './model/store.ts';

/** Kinds of signatures: the two kinds of tokens, and bundles. */
type SignedKind = 'access' | 'id' | 'bundle';

export const certificateKinds = ['instance', 'service', 'role', 'user', 'ssh-host', 'ssh-user'] as const;

type IssuedKind = (typeof certificateKinds)[number];

/** Attestation methods: a join token, the token of a foreign issuer, or a call to its provider. */
export const attestationMethods = ['join-token', 'jwt', 'call-out'] as const;

export type AttestationMethod = (typeof attestationMethods)[number];

/** `refused`: the instance is not what it claims. `failed`: no answer could be obtained. */
export const attestationOutcomes = ['granted', 'refused', 'failed'] as const;

type AttestationOutcome = (typeof attestationOutcomes)[number];

/** Store operations: a poll, the load of changes, reads of an operation, a change; or the records of certificates and instances. */
export const storeOperations = ['look', 'load', 'read', 'change', 'certificates', 'instances'] as const;

export type StoreOperation = (typeof storeOperations)[number];

/**
 * Observer of a server's events; the parts that report them do not depend on its consumers. INVARIANT: no argument holds what a caller sent, but
 * a method of HTTP: everything else is from a set that the server closes.
 */
export interface Observer {
  /**
   * `route` is the pattern that matched; absent where none did, or none was looked for. `status` 0: the caller was gone before the answer.
   * `seconds` are absent if the start is unknown.
   */
  answered(route: string | undefined, method: string | undefined, status: number, seconds?: number): void;
  /** A request for a token was answered with this error (RFC 6749 §5.2). */
  tokenRefused(error: string): void;
  signed(kind: SignedKind): void;
  /** Recorded as issued. */
  certificateIssued(kind: IssuedKind): void;
  /** Recorded as revoked. */
  certificatesRevoked(reason: RevocationReason, count: number): void;
  /** A change was made without the approvals that it needs, in an emergency. */
  glassBroken(): void;
  attested(method: AttestationMethod, outcome: AttestationOutcome): void;
  snapshotRefreshed(seconds: number, isDone: boolean): void;
  storeUsed(operation: StoreOperation, seconds: number): void;
}

/** Reasons for 503 of `GET /readyz`. */
export const unreadyReasons = ['stopping', 'no-signing-key', 'certificate-expired', 'clock'] as const;

export type UnreadyReason = (typeof unreadyReasons)[number];

/** Sources that can tell that the clock of a server is wrong; `peers` and `callers` could be wrong themselves. */
export const clockWitnesses = ['database', 'records', 'peers', 'callers'] as const;

export type ClockWitness = (typeof clockWitnesses)[number];

/** State of a server at one moment. Times in milliseconds since the epoch. */
export interface ServerState {
  readonly now: number;
  /** Reason for not being ready; absent if ready. */
  readonly unready?: UnreadyReason | undefined;
  /** Sources by which its clock is wrong. */
  readonly clockDoubtedBy: readonly ClockWitness[];
  /** Lead of its clock over that of the database, in milliseconds; absent where there is none. */
  readonly aheadOfDatabaseMs?: number | undefined;
  readonly snapshot: { readonly counter: number; readonly refreshedAt: number; readonly domains: number };
  readonly store: { readonly isUp: boolean; readonly isWritable: boolean; readonly isDiverged: boolean };
  /** Connections to a database that is reached over the network. */
  readonly connections?: PoolUse | undefined;
  /** Since when the key that signs now has signed. */
  readonly keys: readonly { readonly purpose: KeyPurpose; readonly activeSince: number }[];
  /** Share of the life of the issuer that is left, from 0 to 1; absent: no certificates are issued. */
  readonly issuerLeft?: number | undefined;
  readonly certificates: readonly { readonly which: 'server' | 'issuer' | 'crl'; readonly notAfter: number }[];
}
