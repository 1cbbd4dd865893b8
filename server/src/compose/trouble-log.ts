import { DomainError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** Interval of repeated messages while a trouble lasts, in milliseconds. */
const repeatMs = 60_000;

/** Tells of one kind of trouble: when it begins, once a minute while it lasts, and when it has passed. */
interface TroubleLog {
  failed(error: unknown): void;
  /** Records a success: costs nothing if nothing has failed. */
  passed(): void;
}

interface Texts {
  readonly failing: string;
  readonly passed: string;
}

/** A fault that each request and each look at the store meets would fill the log. */
export function troubleLog(
  logger: Pick<Logger, 'error' | 'info'>,
  { failing, passed }: Texts,
  monotonic: () => number = () => performance.now(),
): TroubleLog {
  let trouble: { readonly since: number; toldAt: number; failures: number } | undefined;
  const sizeOf = ({ since, failures }: NonNullable<typeof trouble>, now: number) => ({
    failures,
    seconds: Math.round((now - since) / 1000),
  });
  return {
    failed(error) {
      const now = monotonic();
      const lasting = trouble;
      trouble ??= { since: now, toldAt: now, failures: 0 };
      trouble.failures += 1;
      if (lasting !== undefined && now - lasting.toldAt < repeatMs) return;
      trouble.toldAt = now;
      const detail = error instanceof DomainError ? error.detail : undefined;
      logger.error({ error: String(error), ...detail, ...(lasting !== undefined && sizeOf(lasting, now)) }, failing);
    },
    passed() {
      if (trouble === undefined) return;
      logger.info(sizeOf(trouble, monotonic()), passed);
      trouble = undefined;
    },
  };
}
