import type { PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '../errors.ts';
import type { RecordingConditions } from '../model/certificate-store.ts';
import type { StoreReader } from '../model/store.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { requireKnownIdentity } from './known-identity.ts';

/** Dependencies of a decision about a right now, and again when its result is recorded. */
export interface DecideAgainDeps {
  readonly snapshot: () => Snapshot;
  readonly snapshotAt: SnapshotAt;
}

/** Caller, and the certificate that authenticated it. */
export interface Asker {
  readonly principal: PrincipalName;
  /** Certificate of the caller; absent if none was presented. */
  readonly certificate?: AskersCertificate | undefined;
}

export interface AskersCertificate {
  /** Lower-case hexadecimal. */
  readonly serial: string;
  /** Milliseconds since the epoch; absent for one that is made with what it asks for. */
  readonly issuedAt?: number | undefined;
}

/**
 * Repeats the decision made before a certificate was signed in the transaction that records it: that the caller is known, and no newcomer of the
 * same name, and `decide`, which throws when the right is missing.
 */
export function decidedAgain(
  { snapshotAt }: Pick<DecideAgainDeps, 'snapshotAt'>,
  asker: Asker | undefined,
  decide: (snapshot: Snapshot) => unknown,
): RecordingConditions {
  return {
    presented: asker?.certificate?.serial,
    decide: async (source) => {
      const snapshot = await snapshotAt(source);
      if (asker !== undefined) requireKnownIdentity(asker.principal, snapshot, asker.certificate?.issuedAt);
      return decide(snapshot);
    },
  };
}

/**
 * Repeats that for the caller of a change, in the transaction that makes it: it waits for its turn, and the caller's credentials may have
 * expired meanwhile. Throws `ForbiddenError` when the certificate was revoked, `UnauthenticatedError`.
 */
export async function requireAsker(
  reader: Pick<StoreReader, 'isRevoked'>,
  snapshot: Snapshot,
  { principal, certificate }: Asker,
): Promise<void> {
  if (certificate === undefined) return;
  if (await reader.isRevoked(certificate.serial)) throw new ForbiddenError('the certificate that asked was revoked');
  requireKnownIdentity(principal, snapshot, certificate.issuedAt);
}
