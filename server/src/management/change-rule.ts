import type { DomainName } from '@signet/policy-engine/names';
import type { DomainError } from '../errors.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { Quotas } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import type { StoreAfter } from './store-after.ts';

/** Violation by a change. */
export interface ChangeFault {
  readonly error: DomainError;
  /** Path in the document of the domain: names as they are stored, of members too. */
  readonly path: readonly string[];
}

/** Predicate: the author of a change may look at a role, a group or the whole (`domain`) of a domain. */
export type Sees = (domain: DomainName, object: string) => boolean;

/** Exceptions for names in a change; each must be requested by a caller who may. */
export interface NameRules {
  /** True if a deletion removes the memberships of the deleted principals in every domain; else it is refused while there are some. */
  readonly removeMemberships?: boolean | undefined;
  /** True if a name may be used although credentials of its former holder may still be valid. */
  readonly reuseName?: boolean | undefined;
  /** The longest life of a credential, for which a name stays reserved. */
  readonly reservedMs?: number | undefined;
}

/** Facts by which a change is judged beside itself. */
export interface ChangeFacts extends NameRules {
  readonly reader: StoreReader;
  /** Store after the change, with all others that are made at once. */
  readonly after: StoreAfter;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True if `*` and prefixes may become members. */
  readonly allowWildcard: boolean;
  /** Quotas of the server; absent: only those that a domain has of its own. */
  readonly quotas?: Quotas | undefined;
  readonly sees: Sees;
}

/** Rule that a change must keep. Checks only new items: existing ones may stay. */
export type ChangeRule = (
  change: DomainChange,
  facts: ChangeFacts,
) => readonly ChangeFault[] | Promise<readonly ChangeFault[]>;
