import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore, RevocationRow } from '../model/certificate-store.ts';
import { isSameState, type StoreState } from '../model/snapshot-source.ts';

/** Revoked certificates, in memory: checked on every request, refreshed in the background. */
export interface LiveRevocations {
  has(serial: string): boolean;
  /** The same, by the SHA-256 of the certificate in DER, base64url. */
  hasThumbprint(thumbprint: string): boolean;
  /** Revocations of one issuer that have not expired, in order of revocation. */
  ofIssuer(issuer: string): readonly RevocationRow[];
  /** Number of revocations noticed; another history of the store has other numbers. */
  readonly sequence: number;
  /**
   * Time when another history of the store was read, in seconds since the epoch; 0: it has had one. Lists made until then may lack some
   * revocations under the same number.
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
  /** Called for each read that succeeds. */
  readonly onRead?: () => void;
  /** Called with the certificates that are revoked here, and not in another history of the store. */
  readonly onMissing?: (serials: readonly string[]) => void;
  /** Subscribes to the result of each poll of the store, before anything is read for it; absent: no polling. */
  readonly onLook?: (listener: (state: StoreState) => void) => void;
}

/** A look comes a little later than its interval: until then nothing is read in its place, in milliseconds. */
const graceMs = 50;

/**
 * Reads every relevant revocation, then follows new ones: at once when a poll of the store finds another state, and after each interval without
 * a poll. INVARIANT: every revocation raises the counter of the store, so under a state that was seen before the last successful read there is
 * nothing to read.
 */
export async function openLiveRevocations(deps: LiveRevocationsDeps): Promise<LiveRevocations> {
  const remembered = rememberRevocations();
  const { known, thumbprints } = remembered;
  const reader = new RevocationReader(deps, remembered);
  await reader.refresh();
  deps.onLook?.((state) => void reader.look(state).catch(deps.onError));
  return {
    has: (serial) => known.has(serial),
    hasThumbprint: (thumbprint) => thumbprints.has(thumbprint),
    ofIssuer: (issuer) => [...known.values()].filter((row) => row.issuer === issuer),
    get sequence() {
      return reader.sequence;
    },
    get rereadAt() {
      return reader.rereadAt;
    },
    refresh: () => reader.refresh(),
    reread: () => reader.reread(),
    close: () => reader.close(),
  };
}

class RevocationReader {
  readonly #deps: LiveRevocationsDeps;
  readonly #remembered: Remembered;
  #readAt = 0;
  #isOther = false;
  #reading: Promise<void> | undefined;
  /** The state that was seen before the last read that a look has led to. */
  #readState: StoreState | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  sequence = 0;
  rereadAt = 0;

  constructor(deps: LiveRevocationsDeps, remembered: Remembered) {
    this.#deps = deps;
    this.#remembered = remembered;
  }

  /** A caller that has just written must see it: it waits for the read under way, and then for its own. */
  async refresh(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    this.#reading = this.#read().finally(() => this.#readAfter(this.#deps.refreshIntervalMs));
    await this.#reading;
  }

  reread(): Promise<void> {
    this.#isOther = true;
    return this.refresh();
  }

  /** Reads after a poll. A failed read does not update the state: the next poll repeats it. */
  async look(state: StoreState): Promise<void> {
    await this.#reading?.catch(() => undefined);
    const now = epochSeconds(this.#deps.clock);
    const isRead = this.#readState !== undefined && isSameState(this.#readState, state);
    if (isRead && !this.#isOther && now >= this.#readAt) {
      this.#remembered.remember([], now);
      this.#readAt = now;
      this.#readAfter(this.#deps.refreshIntervalMs + graceMs);
    } else {
      await this.refresh();
      this.#readState = state;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reading?.catch(() => undefined);
  }

  #readAfter(pauseMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.refresh().catch(this.#deps.onError), pauseMs);
    this.#timer.unref();
  }

  async #read(): Promise<void> {
    const now = epochSeconds(this.#deps.clock);
    if (this.#isOther) {
      this.#isOther = false;
      return await this.#readOther(now).catch((error: unknown) => {
        this.#isOther = true;
        throw error;
      });
    }
    // A clock that is set back brings certificates back that had expired: what was revoked of them must be known again.
    const rows = await this.#rowsAfter(now < this.#readAt ? 0 : this.sequence, now);
    this.sequence = Math.max(this.sequence, lastOf(rows));
  }

  async #readOther(now: number): Promise<void> {
    const rows = await this.#rowsAfter(0, now);
    this.sequence = lastOf(rows);
    this.rereadAt = now;
    const there = new Set(rows.map(({ serial }) => serial));
    const missing = [...this.#remembered.known.keys()].filter((serial) => !there.has(serial));
    if (missing.length > 0) this.#deps.onMissing?.(missing);
  }

  async #rowsAfter(after: number, now: number): Promise<readonly RevocationRow[]> {
    const rows = await this.#deps.certificates.revocationsAfter(after, now);
    this.#readAt = now;
    this.#remembered.remember(rows, now);
    this.#deps.onRead?.();
    return rows;
  }
}

interface Remembered {
  readonly known: ReadonlyMap<string, RevocationRow>;
  readonly thumbprints: ReadonlySet<string>;
  /** Forgets those that have ended at `now` as well. */
  remember(rows: readonly RevocationRow[], now: number): void;
}

function rememberRevocations(): Remembered {
  const known = new Map<string, RevocationRow>();
  const thumbprints = new Set<string>();
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
  return { known, thumbprints, remember };
}

function lastOf(rows: readonly RevocationRow[]): number {
  return rows.reduce((last, row) => Math.max(last, row.sequence), 0);
}
