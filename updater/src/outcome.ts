import type { SignetClientErrorCode } from '@signet/client';
import type { PolicyEngineError } from '@signet/policy-engine/bundle';

/** The bundle that is on disk and verified. Times are milliseconds since the epoch. */
export interface BundleOnDisk {
  readonly epoch: number;
  readonly version: number;
  readonly issued: number;
  readonly expires: number;
  /** Time from which it should have been replaced. */
  readonly freshUntil: number;
  readonly kid: string;
}

/** Result of one domain in one run. Only `updated` changed the file on disk; every other kind left it as it was. */
export type Outcome =
  /** A newer bundle was verified and is on disk. */
  | { readonly kind: 'updated'; readonly bundle: BundleOnDisk }
  /** The server has nothing newer than the bundle on disk. */
  | { readonly kind: 'unchanged'; readonly bundle: BundleOnDisk }
  /** Rejected: the server's answer is not acceptable. */
  | {
      readonly kind: 'rejected';
      readonly reason: PolicyEngineError['code'] | SignetClientErrorCode;
      readonly message: string;
    }
  /** The server answered with an error. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly message: string;
      readonly retryAfterSeconds: number | undefined;
    }
  /** Unreachable: no answer from the server. */
  | { readonly kind: 'unreachable'; readonly reason: SignetClientErrorCode; readonly message: string }
  /** The bundle is good and could not be written. */
  | { readonly kind: 'not-stored'; readonly message: string }
  /** Unsafe file in the place of the bundle, not a plain one; it is neither followed nor replaced, and no request was made. */
  | { readonly kind: 'unsafe'; readonly message: string }
  /** Postponed: not requested, because the server asked earlier in this run to come back later. */
  | { readonly kind: 'postponed'; readonly message: string };

/** True if a valid bundle is on disk that the server confirmed. */
export function isSuccess(outcome: Outcome): outcome is Extract<Outcome, { bundle: BundleOnDisk }> {
  return outcome.kind === 'updated' || outcome.kind === 'unchanged';
}
