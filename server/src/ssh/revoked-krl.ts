import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type { CertificateStore } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../turns/signing-turns.ts';
import type { LiveRevocations } from '../x509/live-revocations.ts';
import { buildKrl, type RevokedBy } from './krl.ts';
import type { SshAuthority } from './ssh-authority.ts';

interface RevokedKrlDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter' | 'lastRevocation'>;
  readonly authorities: readonly SshAuthority[];
  readonly clock: Clock;
  readonly pace?: Pace | undefined;
  /** Revocations that this process knows: after a loss of changes that may be more than the store does. */
  readonly live?: KrlRevocations | undefined;
}

export type KrlRevocations = Pick<LiveRevocations, 'ofIssuer' | 'sequence' | 'rereadAt'>;

interface MadeKrl {
  readonly krl: Buffer;
  readonly state: string;
  /** Seconds since the epoch: between these two it holds what a list that is made then would. */
  readonly madeAt: number;
  readonly until: number;
}

/**
 * Publisher of the revocation list: the store is polled once a second at most, and only on request. The list is made again after a revocation,
 * and when an entry leaves it.
 */
export function createKrlPublisher(deps: RevokedKrlDeps): () => Promise<Buffer> {
  const takeTurn = signingTurns<Buffer>(deps.pace);
  let made: MadeKrl | undefined;
  return () =>
    takeTurn('krl', 'krl', async () => {
      made = await currentKrl(deps, made);
      return made.krl;
    });
}

/** Certificates stay in the list for so long after their end: the clocks of hosts may be behind. */
const keptSeconds = 86_400;

/**
 * The list of what is revoked of these authorities and has not ended a day ago. Its version and its time are those of the last revocation:
 * they never fall, and every server gives out the same bytes, unless changes of the store were lost. Throws `StoreUnavailableError`: an old list is better than one that forgets.
 */
async function currentKrl(deps: RevokedKrlDeps, known: MadeKrl | undefined): Promise<MadeKrl> {
  const { live } = deps;
  const now = epochSeconds(deps.clock);
  const last = await deps.certificates.lastRevocation();
  const state = JSON.stringify([last.sequence, last.at, live?.sequence, live?.rereadAt]);
  if (known?.state === state && known.madeAt <= now && now <= known.until) return known;
  const rows = await deps.certificates.revocationsAfter(0, now - keptSeconds);
  const inStore = new Set(rows.map(({ serial }) => serial));
  const revoked: RevokedBy[] = [];
  let until = Number.POSITIVE_INFINITY;
  for (const { publicKey } of deps.authorities) {
    const stored = rows.filter((row) => row.issuer === publicKey.fingerprint);
    for (const { notAfter } of stored) until = Math.min(until, notAfter + keptSeconds);
    const lost = live?.ofIssuer(publicKey.fingerprint).filter(({ serial }) => !inStore.has(serial)) ?? [];
    for (const { notAfter } of lost) until = Math.min(until, notAfter);
    const serials = await numbersOf([...stored, ...lost].map(({ serial }) => serial));
    revoked.push({ authority: publicKey, serials, keyIds: [] });
  }
  const krl = buildKrl({ version: BigInt(last.sequence), generatedAt: last.at, comment: 'signet', revoked });
  return { krl, state, madeAt: now, until };
}

/** Numbers per slice, which take about a millisecond. */
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
