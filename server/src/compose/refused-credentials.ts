import type { Logger } from '../logger.ts';
import type { Store } from '../model/store.ts';

/** Counts credentials that were refused, and writes down how many for each reason, once in a while: never a record for each request. */
interface RefusedCredentials {
  /** `reason` is one of the server's own texts, never what a caller sent. */
  count(reason: string): void;
  /** Writes what was counted since the last time; nothing when there was nothing. */
  flush(): Promise<void>;
  /** Writes the rest, and counts no more. */
  close(): Promise<void>;
}

interface RefusedCredentialsDeps {
  readonly store: Pick<Store, 'change'>;
  /** Actor of the audit records. */
  readonly actor: string;
  readonly onError: (error: unknown) => void;
}

const intervalMs = 60_000;
/** Maximum of reasons, above their real number; further ones are counted together. */
const maxReasons = 32;
const otherReasons = 'other reasons';

export function countRefusedCredentials({ store, actor, onError }: RefusedCredentialsDeps): RefusedCredentials {
  let counts = new Map<string, number>();
  const add = (reason: string, number: number) => {
    const key = counts.has(reason) || counts.size < maxReasons ? reason : otherReasons;
    counts.set(key, (counts.get(key) ?? 0) + number);
  };
  const flush = async () => {
    if (counts.size === 0) return;
    const written = counts;
    counts = new Map();
    try {
      const sorted = Object.fromEntries([...written].sort(([one], [other]) => (one < other ? -1 : 1)));
      await store.change({ actor }, (transaction) => transaction.noteRefusedCredentials(sorted));
    } catch (error) {
      // The store will be there again: what was counted is written with what comes.
      for (const [reason, number] of written) add(reason, number);
      onError(error);
    }
  };
  const timer = setInterval(() => void flush(), intervalMs).unref();
  return {
    count: (reason) => add(reason, 1),
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}

/** Refused credentials of a running server. */
export function openRefusedCredentials(store: Store, logger: Logger): RefusedCredentials {
  const onError = (error: unknown) =>
    logger.error({ error: String(error) }, 'number of refused credentials cannot be written yet');
  return countRefusedCredentials({ store, actor: 'signet serve', onError });
}
