import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../signing-turns.ts';
import type { LiveRevocations } from '../x509/live-revocations.ts';
import { buildKrl, type RevokedBy } from './krl.ts';
import type { SshAuthority } from './ssh-authority.ts';

interface RevokedKrlDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter' | 'lastRevocation'>;
  readonly authorities: readonly SshAuthority[];
  readonly clock: Clock;
  readonly pace?: Pace | undefined;
  /** What this process knows: after changes were lost that may be more than the store does. */
  readonly revokedOf?: LiveRevocations['ofIssuer'];
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
 * they never fall, and every server gives out the same bytes, unless changes of the store were lost. Throws `StoreUnavailableError`: an old list is better than one that forgets.
 */
async function revokedKrl(deps: RevokedKrlDeps): Promise<Buffer> {
  const last = await deps.certificates.lastRevocation();
  const rows = await deps.certificates.revocationsAfter(0, epochSeconds(deps.clock) - keptSeconds);
  const revoked: RevokedBy[] = [];
  for (const { publicKey } of deps.authorities) {
    const stored = rows.filter((row) => row.issuer === publicKey.fingerprint);
    const all = [...stored, ...(deps.revokedOf?.(publicKey.fingerprint) ?? [])].map(({ serial }) => serial);
    revoked.push({ authority: publicKey, serials: await numbersOf(all), keyIds: [] });
  }
  return buildKrl({ version: BigInt(last.sequence), generatedAt: last.at, comment: 'signet', revoked });
}

/** So many numbers take about a millisecond. */
const numbersAtOnce = 5000;

/** Each serial number once; requests go on being answered in between. */
async function numbersOf(serials: readonly string[]): Promise<readonly bigint[]> {
  const numbers: bigint[] = [];
  for (const serial of new Set(serials)) {
    numbers.push(BigInt(`0x${serial}`));
    if (numbers.length % numbersAtOnce === 0) await yieldToOthers();
  }
  return numbers;
}
