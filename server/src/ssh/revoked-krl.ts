import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../signing-turns.ts';
import { buildKrl } from './krl.ts';
import type { SshAuthority } from './ssh-authority.ts';

interface RevokedKrlDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter'>;
  readonly authorities: readonly SshAuthority[];
  readonly clock: Clock;
  readonly pace?: Pace | undefined;
}

/** Gives the list of what is revoked: read and made once a second at most, and never before it is asked for. */
export function createKrlPublisher(deps: RevokedKrlDeps): () => Promise<Buffer> {
  const takeTurn = signingTurns<Buffer>(deps.pace);
  return () => takeTurn('krl', 'krl', () => revokedKrl(deps));
}

/**
 * The list of what is revoked of these authorities and has not ended. Its version is the sequence of the last revocation, so that a later
 * list has a greater one. Throws `StoreUnavailableError`: an old list is better than one that forgets.
 */
async function revokedKrl(deps: RevokedKrlDeps): Promise<Buffer> {
  const now = epochSeconds(deps.clock);
  const rows = await deps.certificates.revocationsAfter(0, now);
  const revoked = deps.authorities.map(({ publicKey }) => ({
    authority: publicKey,
    serials: rows.filter((row) => row.issuer === publicKey.fingerprint).map((row) => BigInt(`0x${row.serial}`)),
    keyIds: [],
  }));
  const version = rows.reduce((latest, row) => Math.max(latest, row.sequence), 0);
  return buildKrl({ version: BigInt(version), generatedAt: now, comment: 'signet', revoked });
}
