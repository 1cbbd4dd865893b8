import type { DomainName } from '@signet/policy-engine/names';
import type { SigningKeyRecord } from '../snapshot/snapshot.ts';
import type { DomainRecord } from './records.ts';

/** Where the store stands. A pair seen before means that nothing has changed since. */
export interface StoreState {
  readonly epoch: number;
  readonly counter: number;
}

/** The version of a domain that somebody has. */
export type VersionOf = (name: DomainName) => number | undefined;

/** What changed after a given counter. */
export interface StoreChanges {
  readonly state: StoreState;
  /** Every changed domain that exists, disabled ones included. */
  readonly domains: readonly DomainRecord[];
  readonly deleted: readonly DomainName[];
  /** Changed domains of which the asker has another version, where that is cheaper than the whole; absent when there are none. */
  readonly patches?: readonly DomainPatch[];
  /** All of them, changed or not. */
  readonly signingKeys: readonly SigningKeyRecord[];
}

/** How a domain comes from an earlier version to the present one: members, policies and services as far as they changed. */
export interface DomainPatch {
  readonly since: number;
  /** The domain with exactly those of its members that are called one of `names`. */
  readonly excerpt: DomainRecord;
  /** Every name that joined or left a role or group since, or whose entry changed. Sorted. */
  readonly names: readonly string[];
  /** Whether policies and services are as they were; the excerpt then has none. */
  readonly sameRules: boolean;
}

/** What the snapshot needs of a store. Every method throws `StoreUnavailableError` when the store cannot be read. */
export interface SnapshotSource {
  /** Cheap: asked at every refresh. */
  state(): Promise<StoreState>;
  /**
   * Everything changed after `counter`, as of one instant; without a counter everything there is. With `versionOf`, which says what
   * version of a domain the asker has, some of it may come as patches.
   */
  changesSince(counter?: number, versionOf?: VersionOf): Promise<StoreChanges>;
}
