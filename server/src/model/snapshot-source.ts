import type { DomainName } from '@signet/policy-engine/names';
import type {
  DomainAttributes,
  DomainRecord,
  GroupFields,
  ListKind,
  MemberEntry,
  RoleFields,
  SigningKeyRecord,
} from './records.ts';

/** State of the store. The same three values mean that nothing has changed since. */
export interface StoreState {
  /** Epoch; grows when a store goes on from an earlier state: restored from a backup, or after changes were lost. */
  readonly epoch: number;
  /** Number of changes. */
  readonly counter: number;
  /** The head of the audit log that the last change left behind: another history has another one under the same counter. */
  readonly head: string;
}

export function isSameState(a: StoreState, b: StoreState): boolean {
  return a.epoch === b.epoch && a.counter === b.counter && a.head === b.head;
}

/**
 * Reasons why the changes after a known state cannot be told. `restart`: a later epoch was begun, so that all readers start over. `divergence`:
 * the store never was in that state, or is not past it any more: it has another history, as after a failover that lost changes. `distance`: too
 * much has changed since, or the record of it is gone.
 */
export type GapKind = 'restart' | 'divergence' | 'distance';

/** Answered in place of changes: everything counts, and what was known before does not. */
export interface StoreGap {
  readonly gap: GapKind;
  readonly state: StoreState;
}

export function isGap(answer: StoreChanges | StoreGap): answer is StoreGap {
  return 'gap' in answer;
}

/** Predicate: the reader has the domain as it was in the state that it names. */
export type Knows = (name: DomainName) => boolean;

/**
 * Members of the roles, or of the groups, of a domain; the texts are JSON. A store may hold a million members, most of which are not needed for
 * a long time: until then they stay the few strings that the database made of them.
 */
export interface PackedMembers {
  readonly kind: ListKind;
  /** How many they are. */
  readonly count: number;
  /** The names of the plain ones, of which nothing else is said, and for each of them its role or group. */
  readonly names: string;
  readonly lists: string;
  /** The others: for each its role or group, its name and its cells, in the order of `memberColumns`. */
  readonly others: string;
}

/** A stored domain whose members are packed. */
export interface PackedDomain extends DomainModel, DomainGrants {
  readonly groups: readonly GroupFields[];
  /** Members, in several parts where they are many. */
  readonly members: readonly PackedMembers[];
}

export interface StoreContents {
  readonly state: StoreState;
  /** Domains, disabled ones included, sorted by name. In parts, and packed: a store may hold millions of members. */
  readonly domains: AsyncIterable<readonly PackedDomain[]>;
  readonly signingKeys: readonly SigningKeyRecord[];
}

/** Changes after a given state, or the complete contents. */
export interface StoreChanges {
  readonly state: StoreState;
  /** The state after which this changed; absent when this is everything, and what was known before does not count. */
  readonly since?: StoreState;
  /** Every changed domain that exists, disabled ones included, but for those of `updates`. */
  readonly domains: readonly DomainRecord[];
  readonly deleted: readonly DomainName[];
  /** Changes of domains that the reader knows; absent if there are none. */
  readonly updates?: readonly DomainUpdate[];
  /** All signing keys, changed or not. */
  readonly signingKeys: readonly SigningKeyRecord[];
  /** Partial, as in `Snapshot`; absent: as known before. */
  readonly isPart?: true;
}

/** A domain beside what it grants: what it says of itself, and its roles without their members. */
export interface DomainModel extends DomainAttributes {
  readonly roles: readonly RoleFields[];
}

/** Access that a domain grants, and its services' keys. */
export type DomainGrants = Pick<DomainRecord, 'policies' | 'services' | 'servicesFrom'>;

/** Changes of one domain from the reader's state to the present one. */
export interface DomainUpdate {
  readonly name: DomainName;
  readonly model?: DomainModel;
  /** Grants; absent if unchanged; only with a model. */
  readonly grants?: DomainGrants;
  /** Every name that joined or left a role or group since, or whose entry changed. Sorted. */
  readonly names: readonly string[];
  /** Present entries of these names. */
  readonly entries: readonly MemberEntry[];
}

/** Source of a snapshot. Every method throws `StoreUnavailableError` when the store cannot be read. */
export interface SnapshotSource {
  /** Cheap: asked at every refresh. */
  state(): Promise<StoreState>;
  /** Changes after `known`, as of one instant, or why they cannot be told. Of the domains that the reader `knows`, some come as updates. */
  changesSince(known: StoreState, knows?: Knows): Promise<StoreChanges | StoreGap>;
  /** Runs `work` on everything, as of one instant. */
  everything<Result>(work: (contents: StoreContents) => Promise<Result>): Promise<Result>;
}
