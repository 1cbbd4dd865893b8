import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../signing-turns.ts';
import { buildKrl } from './krl.ts';
import type { SshAuthority } from './ssh-authority.ts';

interface RevokedKrlDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter' | 'lastRevocation'>;
  readonly authorities: readonly SshAuthority[];
  readonly clock: Clock;
  readonly pace?: Pace | undefined;
}

/** Gives the list of what is revoked: read and made once a second at most, and never before it is asked for. */
export function createKrlPublisher(deps: RevokedKrlDeps): () => Promise<Buffer> {
  const takeTurn = signingTurns<Buffer>(deps.pace);
  return () => takeTurn('krl', 'krl', () => revokedKrl(deps));
}

/** Certificates stay in the list for so long after their end: the clocks of hosts may be behind. */
const keptSeconds = 86_400;

/**
 * The list of what is revoked of these authorities and has not ended a day ago. Its version and its time are those of the last revocation:
 * they never fall, and every server gives out the same bytes. Throws `StoreUnavailableError`: an old list is better than one that forgets.
 */
async function revokedKrl(deps: RevokedKrlDeps): Promise<Buffer> {
  const last = await deps.certificates.lastRevocation();
  const rows = await deps.certificates.revocationsAfter(0, epochSeconds(deps.clock) - keptSeconds);
  const revoked = deps.authorities.map(({ publicKey }) => ({
    authority: publicKey,
    serials: rows.filter((row) => row.issuer === publicKey.fingerprint).map((row) => BigInt(`0x${row.serial}`)),
    keyIds: [],
  }));
  return buildKrl({ version: BigInt(last.sequence), generatedAt: last.at, comment: 'signet', revoked });
}
