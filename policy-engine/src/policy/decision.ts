import type { Effect, WireConditions } from '../wire/index.ts';
import type { Status } from './status.ts';

/** An assertion as the policy wrote it. */
export interface DecidingAssertion {
  readonly id?: number;
  readonly effect: Effect;
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly conditions?: WireConditions;
}

/** The revision of a bundle; see `BundleVersion` in the bundle part. */
export interface PolicyRevision {
  readonly epoch: number;
  readonly version: number;
}

/**
 * The answer to one request, with what decided it. The objects are shared and frozen: the same assertion of the same bundle
 * gives the same object.
 */
export interface Decision {
  readonly status: Status;
  /** The domain whose policy was asked; absent when the request did not get that far. */
  readonly domain?: string;
  /** Revision of the policy that was asked; absent for policies that came without one. */
  readonly revision?: PolicyRevision;
  /** The role of the deciding assertion in short form: a name, or the pattern that a role of the caller fitted. */
  readonly role?: string;
  /** Name of the policy that holds the deciding assertion, as written. */
  readonly policy?: string;
  readonly assertion?: DecidingAssertion;
}
