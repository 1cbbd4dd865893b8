import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore, RevocationRow } from '../model/certificate-store.ts';

/** Which certificates were revoked, in memory: asked on every request, brought up to date in the background. */
export interface LiveRevocations {
  has(serial: string): boolean;
  /** The same, by the SHA-256 of the certificate in DER, base64url. */
  hasThumbprint(thumbprint: string): boolean;
  /** Those of one issuer that have not expired, in the order in which they were revoked. */
  ofIssuer(issuer: string): readonly RevocationRow[];
  /** Grows with every revocation that is noticed. */
  readonly sequence: number;
  /** Reads what is new. Throws `StoreUnavailableError`; what is known stays known. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

interface LiveRevocationsDeps {
  readonly certificates: Pick<CertificateStore, 'revocationsAfter'>;
  readonly clock: Clock;
  readonly refreshIntervalMs: number;
  readonly onError: (error: unknown) => void;
}

/** Reads every revocation that still matters, then goes on reading those that come. */
export async function openLiveRevocations(deps: LiveRevocationsDeps): Promise<LiveRevocations> {
  const known = new Map<string, RevocationRow>();
  const thumbprints = new Set<string>();
  let sequence = 0;
  let readAt = 0;
  let reading: Promise<void> | undefined;
  const forget = ({ serial, fingerprint }: RevocationRow): void => {
    known.delete(serial);
    if (fingerprint !== undefined) thumbprints.delete(fingerprint);
  };
  const read = async (): Promise<void> => {
    const now = epochSeconds(deps.clock);
    // A clock that is set back brings certificates back that had expired: what was revoked of them must be known again.
    const after = now < readAt ? 0 : sequence;
    readAt = now;
    for (const row of await deps.certificates.revocationsAfter(after, now)) {
      known.set(row.serial, row);
      if (row.fingerprint !== undefined) thumbprints.add(row.fingerprint);
      sequence = Math.max(sequence, row.sequence);
    }
    for (const row of known.values()) if (row.notAfter < now) forget(row);
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
    refresh,
    close: async () => {
      clearInterval(timer);
      await reading?.catch(() => undefined);
    },
  };
}
