import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore, RevocationRow } from '../model/certificate-store.ts';

/** Which certificates were revoked, in memory: asked on every request, brought up to date in the background. */
export interface LiveRevocations {
  has(serial: string): boolean;
  /** The same, by the SHA-256 of the certificate in DER, base64url. */
  hasThumbprint(thumbprint: string): boolean;
  /** Those of one issuer that have not expired, in the order in which they were revoked. */
  ofIssuer(issuer: string): readonly RevocationRow[];
  /** Grows with every revocation that is noticed; another history of the store has other numbers. */
  readonly sequence: number;
  /**
   * When another history of the store was read, in seconds since the epoch; 0: it has had one. What was made of revocations until then may lack
   * some under the same number.
   */
  readonly rereadAt: number;
  /** Reads what is new. Throws `StoreUnavailableError`; what is known stays known. */
  refresh(): Promise<void>;
  /**
   * The store has another history: reads all of its revocations, under the numbers that they have there. INVARIANT: what was revoked in the
   * history before stays revoked. Throws as `refresh`, which then reads them all.
   */
  reread(): Promise<void>;
  close(): Promise<void>;
}

interface LiveRevocationsDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter'>;
  readonly clock: Clock;
  readonly refreshIntervalMs: number;
  readonly onError: (error: unknown) => void;
  /** Told of the certificates that are revoked here, and not in another history of the store. */
  readonly onMissing?: (serials: readonly string[]) => void;
}

/** Reads every revocation that still matters, then goes on reading those that come. */
export async function openLiveRevocations(deps: LiveRevocationsDeps): Promise<LiveRevocations> {
  const known = new Map<string, RevocationRow>();
  const thumbprints = new Set<string>();
  let sequence = 0;
  let readAt = 0;
  let rereadAt = 0;
  let isOther = false;
  let reading: Promise<void> | undefined;
  const remember = (rows: readonly RevocationRow[], now: number): void => {
    for (const row of rows) {
      known.set(row.serial, row);
      if (row.fingerprint !== undefined) thumbprints.add(row.fingerprint);
    }
    for (const { serial, fingerprint, notAfter } of known.values()) {
      if (notAfter >= now) continue;
      known.delete(serial);
      if (fingerprint !== undefined) thumbprints.delete(fingerprint);
    }
  };
  const readAfter = async (after: number, now: number): Promise<readonly RevocationRow[]> => {
    const rows = await deps.certificates.revocationsAfter(after, now);
    readAt = now;
    remember(rows, now);
    return rows;
  };
  const readOther = async (now: number): Promise<void> => {
    const rows = await readAfter(0, now);
    sequence = lastOf(rows);
    rereadAt = now;
    const there = new Set(rows.map(({ serial }) => serial));
    const missing = [...known.keys()].filter((serial) => !there.has(serial));
    if (missing.length > 0) deps.onMissing?.(missing);
  };
  const read = async (): Promise<void> => {
    const now = epochSeconds(deps.clock);
    if (isOther) {
      isOther = false;
      return await readOther(now).catch((error: unknown) => {
        isOther = true;
        throw error;
      });
    }
    // A clock that is set back brings certificates back that had expired: what was revoked of them must be known again.
    const rows = await readAfter(now < readAt ? 0 : sequence, now);
    sequence = Math.max(sequence, lastOf(rows));
  };
  // A caller that has just written must see it: it waits for the read under way, and then for its own.
  const refresh = async (): Promise<void> => {
    await reading?.catch(() => undefined);
    reading = read();
    await reading;
  };
  await refresh();
  const timer = setInterval(() => void refresh().catch(deps.onError), deps.refreshIntervalMs);
  timer.unref();
  return {
    has: (serial) => known.has(serial),
    hasThumbprint: (thumbprint) => thumbprints.has(thumbprint),
    ofIssuer: (issuer) => [...known.values()].filter((row) => row.issuer === issuer),
    get sequence() {
      return sequence;
    },
    get rereadAt() {
      return rereadAt;
    },
    refresh,
    reread: () => {
      isOther = true;
      return refresh();
    },
    close: async () => {
      clearInterval(timer);
      await reading?.catch(() => undefined);
    },
  };
}

function lastOf(rows: readonly RevocationRow[]): number {
  return rows.reduce((last, row) => Math.max(last, row.sequence), 0);
}
