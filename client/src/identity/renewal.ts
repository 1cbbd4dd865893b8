import { hash, X509Certificate } from 'node:crypto';
import type { SignetClientError } from '../client-errors.ts';
import { readSshCertificate } from '../ssh-certificates.ts';
import type { IdentityTexts } from './identity-files.ts';

/*
 * Timing of a certificate's renewal: pure functions of the time. Times are milliseconds, since the epoch or, for those that setting the clock
 * must not affect, since some fixed moment.
 */

/** Validity period of an identity. */
export interface IdentityLife {
  /** Time of issue, as far as the certificate states it: in milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly notAfter: number;
  /** Period from its issue to its renewal. */
  readonly renewAfterMs: number;
  /** Period from its issue to its expiry. */
  readonly endAfterMs: number;
}

/** Lead of a certificate's start over its issue, in milliseconds. */
const backdateMs = 3_600_000;
const sshBackdateMs = 300_000;

/**
 * Reads the life of an identity from its certificates: where they have the choice, clocks that are set wrong do not count. It is renewed
 * between half and seven tenths of the life of the one that ends first; where in between follows from the certificate, so that the instances
 * of a service spread and each of them keeps its time over restarts; not sooner than after ten seconds. Throws when a certificate cannot be read.
 */
export function identityLife({ certificate, sshHostCertificate }: IdentityTexts, now: number): IdentityLife {
  const leaf = new X509Certificate(certificate);
  const notAfter = leaf.validToDate.getTime();
  const told = notAfter - leaf.validFromDate.getTime() - backdateMs;
  // A certificate that begins with its issuer does not tell its own time of issue.
  const endAfterMs = told > 0 ? told : Math.max(1000, notAfter - now);
  const shortest = sshHostCertificate === undefined ? endAfterMs : Math.min(endAfterMs, sshLife(sshHostCertificate));
  const share = Number.parseInt(hash('sha256', certificate).slice(0, 8), 16) / 0xffff_ffff;
  const renewAfterMs = Math.max(minPauseMs, Math.round(shortest * (0.5 + 0.2 * share)));
  return { issuedAt: notAfter - endAfterMs, notAfter, renewAfterMs, endAfterMs };
}

function sshLife(line: string): number {
  const { notBefore, notAfter } = readSshCertificate(line);
  return Math.max(1000, notAfter - notBefore - sshBackdateMs);
}

/** Minimum pause between two requests, whatever a certificate, a clock or a server says. */
export const minPauseMs = 10_000;
const maxRetryMs = 600_000;

/**
 * Delay after the `failures`-th failure in a row: doubling from ten seconds to ten minutes, half to all of it, never less than ten seconds, and
 * beyond them never more than a tenth of the remaining life, so that a short one is not slept through. `random` is between 0 and 1: even the
 * shortest pauses of a fleet, whose certificates end with their issuer, are spread over five seconds.
 */
export function retryDelay(failures: number, leftMs: number | undefined, random: number): number {
  const ceiling = leftMs === undefined || leftMs <= 0 ? maxRetryMs : Math.min(maxRetryMs, leftMs / 10);
  const full = Math.min(ceiling, minPauseMs * 2 ** Math.min(failures - 1, 10));
  const [least, most] = [Math.max(minPauseMs, full / 2), Math.max(minPauseMs * 1.5, full)];
  return Math.round(least + (most - least) * random);
}

/**
 * The same after this error: at least as long as the server asks for and up to half of that more, but not past half of the life that is left. The
 * sender of the answer, a proxy perhaps, does not know when that ends.
 */
export function pauseAfter(
  { retryAfterSeconds = 0 }: Pick<SignetClientError, 'retryAfterSeconds'>,
  failures: number,
  leftMs: number | undefined,
  random: number,
): number {
  const asked = retryAfterSeconds * 1000 * (1 + random / 2);
  const longest = leftMs === undefined || leftMs <= 0 ? asked : (leftMs / 4) * (1 + random);
  return Math.max(retryDelay(failures, leftMs, random), Math.floor(Math.min(asked, longest)));
}

/** Moment on both clocks: the wall clock, which may be set, and a monotonic one. The one that reaches it first decides. */
export interface Moment {
  readonly wall: number;
  readonly steady: number;
}

export function later({ wall, steady }: Moment, ms: number): Moment {
  return { wall: wall + ms, steady: steady + ms };
}

export function hasCome(moment: Moment, now: Moment): boolean {
  return now.wall >= moment.wall || now.steady >= moment.steady;
}

/**
 * State of a certificate: fresh, due for renewal or expired. One that has expired on both clocks is shown to the server all the same, which
 * knows better: the wall clock may be set wrong, and after a restart the other one follows it.
 */
export function certificateState(
  known: { readonly renewAt: Moment; readonly endsAt: Moment },
  now: Moment,
): 'fresh' | 'due' | 'ended' {
  if (now.wall >= known.endsAt.wall && now.steady >= known.endsAt.steady) return 'ended';
  return hasCome(known.renewAt, now) ? 'due' : 'fresh';
}
