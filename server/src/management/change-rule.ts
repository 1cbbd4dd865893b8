import type { DomainName } from '@signet/policy-engine/names';
import type { DomainError } from '../errors.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { Quotas } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import type { StoreAfter } from './store-after.ts';

/** Something that a change must not do. */
export interface ChangeFault {
  readonly error: DomainError;
  /** Where it stands in the document of the domain: names as they are stored, of members too. */
  readonly path: readonly string[];
}

/** Whether the author of a change may look at a role, a group or the whole (`domain`) of a domain. */
export type Sees = (domain: DomainName, object: string) => boolean;

/** How a change treats names; only who is asked for both may do them. */
export interface NameRules {
  /** Whether a deletion takes the memberships of what is deleted with it, in every domain; else it is refused while there are some. */
  readonly removeMemberships?: boolean | undefined;
  /** Whether a name may be used although credentials of whoever had it before may still be out there. */
  readonly reuseName?: boolean | undefined;
  /** The longest life of a credential, for which a name stays reserved. */
  readonly reservedMs?: number | undefined;
}

/** What a change is judged by beside itself. */
export interface ChangeFacts extends NameRules {
  readonly reader: StoreReader;
  /** As the change leaves the store, with all others that are made at once. */
  readonly after: StoreAfter;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether `*` and prefixes may become members. */
  readonly allowWildcard: boolean;
  /** Those of the server; absent: there are none but those that a domain has of its own. */
  readonly quotas?: Quotas | undefined;
  readonly sees: Sees;
}

/** What is wrong with a change. Looks only at what is new: what was there before may stay. */
export type ChangeRule = (
  change: DomainChange,
  facts: ChangeFacts,
) => readonly ChangeFault[] | Promise<readonly ChangeFault[]>;
