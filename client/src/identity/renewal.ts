/* When a certificate is renewed: pure functions of the time, in milliseconds since the epoch. */

/** The life of a certificate in use. */
export interface CertificateLife {
  /** When it was received; certificates begin before they are issued. */
  readonly issuedAt: number;
  readonly notAfter: number;
}

/** Between half and seven tenths of the life; `share`, between 0 and 1, spreads the instances of a service. */
export function renewalTime(life: CertificateLife, share: number): number {
  return Math.round(life.issuedAt + (life.notAfter - life.issuedAt) * (0.5 + 0.2 * share));
}

const firstRetryMs = 10_000;
const maxRetryMs = 600_000;

/**
 * How long to wait after the `failures`-th failure in a row: doubling from ten seconds to ten minutes, half to all of it, and never more
 * than a tenth of the life that is left, so that a short one is not slept through.
 */
export function retryDelay(failures: number, leftMs: number | undefined, share: number): number {
  const ceiling = leftMs === undefined || leftMs <= 0 ? maxRetryMs : Math.min(maxRetryMs, Math.max(1000, leftMs / 10));
  const full = Math.min(ceiling, firstRetryMs * 2 ** Math.min(failures - 1, 10));
  return Math.round(full * (0.5 + 0.5 * share));
}

/** What is due now: a first certificate (also when the last one has ended), a new one, or nothing. */
export function dueStep(
  life: CertificateLife | undefined,
  renewAt: number,
  now: number,
): 'register' | 'refresh' | 'wait' {
  if (life === undefined || now >= life.notAfter) return 'register';
  return now >= renewAt ? 'refresh' : 'wait';
}
