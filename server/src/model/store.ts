import type { DomainName, KeyId, PolicyName, RoleName, ServiceName } from '@signet/policy-engine/names';
import type { CertificateStore, RecordedCertificate, Revocation, RevocationReason } from './certificate-store.ts';
import type { OpenQuery, OpenRequests, RequestQuery, StoredRequest } from './change-requests.ts';
import type { DomainChange } from './domain-change.ts';
import type { InstanceKey, InstanceStore } from './instance-store.ts';
import type {
  AssertionCount,
  AuditRecord,
  ChangeContext,
  DomainAttributes,
  DomainRecord,
  ListKey,
  ListKind,
  ListOf,
  MemberEntry,
  MemberRecord,
  QuotaKind,
  RequestAction,
  SealedKey,
  ServiceRecord,
  SigningKeyRecord,
  StoredPolicy,
} from './records.ts';

import type { DueReview, DueReviewQuery } from './reviews.ts';
import type { SnapshotSource, StoreState } from './snapshot-source.ts';
import type { LiveSshCertificate, SshSelection } from './ssh-selection.ts';

export type {
  DomainUpdate,
  GapKind,
  Knows,
  SnapshotSource,
  StoreChanges,
  StoreContents,
  StoreGap,
  StoreState,
} from './snapshot-source.ts';

export interface SaveOutcome {
  readonly kind: 'created' | 'changed' | 'unchanged';
  /** The policy version after it. */
  readonly version: number;
}

/** Members of roles or groups: those of these names, and those whose names begin so. */
export interface MemberSearch {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/** Public key that was registered by a principal other than an administrator of the service's domain. */
export interface DelegatedKey {
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly keyId: KeyId;
}

/** Domains and services that are disabled. */
export interface SwitchedOff {
  readonly domains: readonly DomainName[];
  readonly services: readonly { readonly domain: DomainName; readonly service: ServiceName }[];
}

/** A name in a role or group. */
export interface Membership {
  readonly domain: DomainName;
  readonly kind: 'role' | 'group';
  /** The role or group, its short name. */
  readonly list: string;
  readonly member: string;
}

/** The store as of one instant. Every look-up costs what it finds, not what there is. */
export interface StoreReader {
  state(): StoreState;
  /** How many members, roles, groups, policies, assertions and services of single domains it has answered so far. */
  rowsRead(): number;
  /** The same for a snapshot; in a transaction, before it has changed anything. */
  source(): SnapshotSource;
  domain(name: DomainName): Promise<DomainRecord | undefined>;
  attributes(name: DomainName): Promise<DomainAttributes | undefined>;
  assertionCounts(name: DomainName): Promise<readonly AssertionCount[]>;
  /** True if the domain is as it was in that state; false also where that is unknown. */
  isUnchanged(name: DomainName, since: StoreState): Promise<boolean>;
  /** The names of the roles or groups of a domain, sorted. */
  listNames<Kind extends ListKind>(domain: DomainName, kind: Kind): Promise<readonly ListOf<Kind>['name'][]>;
  /** A role or group without its members. */
  list<Kind extends ListKind>(list: ListKey<Kind>): Promise<ListOf<Kind> | undefined>;
  /** Page of at most `limit` members of a role or group, of those whose names come after `after`, sorted. */
  memberPage(list: ListKey, after: string, limit: number): Promise<readonly MemberRecord[]>;
  /** Entries of these names in the roles and groups of a domain, sorted by kind, list and name. */
  entries(domain: DomainName, names: readonly string[]): Promise<readonly MemberEntry[]>;
  /** The policies of a domain with all of their versions, or those of one name, sorted by name and version. */
  policies(domain: DomainName, name?: PolicyName): Promise<readonly StoredPolicy[]>;
  /** The services of a domain, or the one of that name, sorted. */
  services(domain: DomainName, name?: ServiceName): Promise<readonly ServiceRecord[]>;
  /** How many of these a domain has. */
  counts<Kind extends QuotaKind>(domain: DomainName, kinds: readonly Kind[]): Promise<Readonly<Record<Kind, number>>>;
  /** Size in bytes of the assertions in force of a domain as JSON strings, plus `aroundEach` for each of them. */
  policyBytes(domain: DomainName, aroundEach: number): Promise<number>;
  /** The services of those of the domains that exist. */
  serviceNames(names: readonly DomainName[]): Promise<ReadonlyMap<DomainName, ReadonlySet<string>>>;
  switchedOff(): Promise<SwitchedOff>;
  /** The keys of delegates that services of these names have. */
  delegatedKeys(search: MemberSearch): Promise<readonly DelegatedKey[]>;
  /** Domains with a role that trusts one of these, sorted. */
  domainsTrusting(names: readonly DomainName[]): Promise<readonly DomainName[]>;
  /** Domains with a role that has such a member, sorted. */
  domainsWithMember(search: MemberSearch): Promise<readonly DomainName[]>;
  /** The full names of groups that have such a member, sorted. */
  groupsWithMember(search: MemberSearch): Promise<readonly string[]>;
  /** Every role and group that has one of these members, sorted by domain and list; of deleted domains there are none. */
  memberships(names: readonly string[]): Promise<readonly Membership[]>;
  /** Names of this domain among the members of all domains: its services, also undefined ones, and patterns of their names. Sorted. */
  membersOf(domain: DomainName): Promise<readonly string[]>;
  /** The other domain that has the form of this name in DNS. */
  formHolder(name: DomainName): Promise<FormHolder | undefined>;
  /** Names (a domain, or `domain.service`) of the given ones that were deleted and not used again since. */
  endedNames(names: readonly string[]): Promise<readonly EndedName[]>;
  /** True if the certificate of this serial number was revoked. */
  isRevoked(serial: string): Promise<boolean>;
  /** The roles of a domain whose change needs approvals. */
  protectedRoles(domain: DomainName): Promise<readonly ProtectedRole[]>;
  /** The domains among these in which some change needs approvals, with the most that one needs. */
  protectedAmong(names: readonly DomainName[]): Promise<ReadonlyMap<DomainName, number>>;
  /** A change request by its number. */
  request(id: number): Promise<StoredRequest | undefined>;
  requests(query: RequestQuery): Promise<readonly StoredRequest[]>;
  openRequests(query: OpenQuery): Promise<OpenRequests>;
  /** Who asked for a certificate: its holder alone by an own log-in, or others, directly or for the one that asked; empty where not known. */
  certificateAskedBy(serial: string): Promise<readonly string[]>;
}

/** A role whose change needs approvals by other persons. */
export interface ProtectedRole {
  readonly name: RoleName;
  readonly approvals: number;
}

/** What somebody did with a change request. */
export interface RequestDeed {
  readonly action: RequestAction;
  readonly by: Pick<ChangeContext, 'actor' | 'certificateSerial'>;
  readonly comment?: string;
}

/** Transaction. Its writes are invisible to others before it commits. */
export interface StoreTransaction extends StoreReader {
  domainNames(): Promise<readonly DomainName[]>;
  /** Stores a new change request with its audit record, and answers it with its number. */
  addRequest(request: Omit<StoredRequest, 'id' | 'kind'>): Promise<StoredRequest>;
  /** Saves state and approvals of a change request, with an audit record of who did what. */
  saveRequest(request: StoredRequest, deed: RequestDeed): Promise<void>;
  /** Saves a change of what this transaction has read. A change without differences does nothing. */
  save(change: DomainChange): Promise<SaveOutcome>;
  /** False when there was none. The name keeps its policy version for the case that it is used again. */
  deleteDomain(name: DomainName): Promise<boolean>;
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  /** Adds a signing key, with its private half where the store keeps that. */
  addSigningKey(record: SigningKeyRecord, sealed?: SealedKey): Promise<void>;
  /** The sealed private halves by `kid`. */
  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>>;
  /** Replaces or adds a private half. False when there is no such key, or it is compromised. */
  sealSigningKey(kid: string, sealed: SealedKey): Promise<boolean>;
  /** Activates a key that does not sign yet from `at` on (milliseconds). False when there is none, or it signs earlier, or is compromised. */
  activateSigningKey(kid: string, at: number): Promise<boolean>;
  /** False when there is no such key. A key stays compromised; the first time is kept. Its sealed private half is removed. */
  markKeyCompromised(kid: string, at: number): Promise<boolean>;
  /**
   * Records that a certificate was signed, with an audit record; the last step before it is handed out. Throws `ForbiddenError` when it or
   * the one that asked was revoked meanwhile, or the token has counted before.
   */
  recordCertificate(certificate: RecordedCertificate): Promise<void>;
  /** Revokes a certificate; false when there is none, or it was revoked before. */
  revokeCertificate(serial: string, revocation: Revocation): Promise<boolean>;
  /** Ends the lineage of an instance and revokes what it holds; its record stays. False when there was no lineage to end. */
  revokeInstance(key: InstanceKey, revocation: Revocation): Promise<boolean>;
  /** The same, and removes the record. False when there was no record, no certificate and no join token. */
  removeInstance(key: InstanceKey, revocation: Revocation): Promise<boolean>;
  /** Writes down that a certificate was presented to refresh an instance that is not its own. Changes nothing else. */
  recordForeignRefresh(key: InstanceKey, presented: string): Promise<void>;
  /** Writes an audit record that credentials were refused: how many for which reason. */
  noteRefusedCredentials(counts: Readonly<Record<string, number>>): Promise<void>;
  /** Writes an audit record that an operator says the clock is right. */
  acceptClock(): Promise<void>;
  /**
   * Begins an epoch later than the present one and than `above`, and returns it. For a store that lacks published changes: open join tokens are
   * spent, the numbers of revocation lists jump ahead, and readers start over.
   */
  newEpoch(above?: number): Promise<number>;
  /** SSH certificates of a serial number or key id that were not revoked and have not expired at `now` (seconds). */
  liveSshCertificates(selection: SshSelection, now: number): Promise<readonly LiveSshCertificate[]>;
}

export interface AuditQuery {
  readonly subject?: string;
  /** Filter: changes of the domain of this name since it was created; an earlier domain of the name may have had another owner. */
  readonly domain?: DomainName;
  /** Filter: only changes of this object of that domain. */
  readonly object?: ObjectKey;
  /** Filter: only records with a smaller id, those that follow the last one of a page. */
  readonly before?: number;
  /** Filter: only records with a greater id, and the oldest first. */
  readonly after?: number;
  /** Filters of a page: changes by this principal, from this time on, before that time (ms). */
  readonly actor?: string;
  readonly since?: number;
  readonly until?: number;
  readonly about?: AboutQuery;
  /** Newest first, at most this many. */
  readonly limit: number;
  /** Called with the number of rows that were read for a page, whether or not all fit on it. */
  readonly looked?: (rows: number) => void;
}

/** Filter of a page: records about a name (`isAbout`), as its reader sees them. */
export interface AboutQuery {
  readonly name: string;
  /** The record without what its reader may not look at; absent: all of it. */
  readonly seen?: (record: AuditRecord) => AuditRecord;
}

/** A page of the audit log, bounded also by what its records hold. */
export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Cursor when more records may follow: with ids smaller than this, or greater where the oldest come first. */
  readonly next?: number;
}

/** The truth about domains and keys, certificates and instances. */
export interface Store extends SnapshotSource {
  readonly certificates: CertificateStore;
  readonly instances: InstanceStore;
  /**
   * Runs `work` in one transaction, with its audit records. When it throws, nothing has happened. Throws `StoreUnavailableError`
   * when the store cannot be written within five seconds.
   */
  change<Result>(context: ChangeContext, work: (transaction: StoreTransaction) => Promise<Result>): Promise<Result>;
  /** Runs `work` on the store as of one instant. */
  view<Result>(work: (reader: StoreReader) => Promise<Result>): Promise<Result>;
  domain(name: DomainName): Promise<DomainRecord | undefined>;
  domainNames(): Promise<readonly DomainName[]>;
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  /** The sealed private halves of signing keys by `kid`. */
  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>>;
  /** The first members whose review is due, the oldest first; those of one time by domain, kind, name and member. */
  dueReviews(query: DueReviewQuery): Promise<readonly DueReview[]>;
  audit(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Fewer than `limit` where they are large. */
  auditPage(query: AuditQuery): Promise<AuditPage>;
  /** Checks the chain of the whole audit log; with `known`, also that it passes through a head noted earlier. */
  verifyAudit(known?: string): Promise<AuditVerdict>;
  /** How many members all roles and groups have together. */
  memberCount(): Promise<number>;
  /** Forgets at most `limit` change requests that ended before a time (milliseconds); answers how many. */
  pruneRequests(endedBefore: number, limit: number): Promise<number>;
  /** Secret that signs the cursors of lists: the same for every server on this store. */
  pagingSecret(): Promise<Uint8Array>;
  /** Condition for writes, by the last attempt. */
  condition(): StoreCondition;
  /** Tries it: brings a store that was opened for reading, for want of space or rights, back to changes when it can be written. Never throws. */
  tryWriting(): Promise<StoreCondition>;
  /** The time of the newest change; undefined before the first. */
  newestRecord(): Promise<NewestRecord | undefined>;
  /** Time of this process's last write to the store. */
  lastWritten(): Moment | undefined;
  /** Lead of this process's clock over that of the database at the last comparison, in milliseconds; undefined: it has none of its own. */
  aheadOfDatabase(): number | undefined;
  /** Registers a listener for the certificates that this process has revoked, called once that is recorded. */
  onRevoked(listener: (reason: RevocationReason, count: number) => void): void;
  /** The connections to a database that is reached over the network. */
  connections(): PoolUse | undefined;
  /** Registers a listener for possible changes, where the database can tell: sooner than the next poll of `state`. */
  watch(listener: () => void): void;
  close(): Promise<void>;
}

/** Connections of a pool, and those who wait for one. */
export interface PoolUse {
  readonly idle: number;
  readonly busy: number;
  readonly waiting: number;
}

/** Result of verifying the whole chain. */
export interface AuditVerdict {
  readonly records: number;
  /** The hash of the newest record: kept elsewhere, it proves later that nothing before it was changed. */
  readonly head: string;
  /** The id of the first record that does not follow from the one before it, or what else is wrong. */
  readonly fault?: string;
}

/** Kinds of a domain's objects, by which changes are found. */
export const objectKinds = ['role', 'group', 'policy', 'service'] as const;

export type ObjectKind = (typeof objectKinds)[number];

/** Key of an object of a domain. */
export interface ObjectKey {
  readonly kind: ObjectKind;
  readonly name: string;
}

/** The end of a name: of a domain, or of a service as `domain.service`. */
export interface EndedName {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
}

/** The domain that has the form of another name in DNS, and whether it still exists. */
export interface FormHolder {
  readonly domain: DomainName;
  readonly deleted: boolean;
}

/** Condition of a store for writes, by the last attempt. */
export type StoreCondition = 'writable' | 'read-only';

/** Time of the newest change of a store, by the clock of its writer. */
export interface NewestRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** True if this process, or a former one in its place, has written it. */
  readonly own: boolean;
}

/** A moment by both clocks of this process. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly wall: number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: number;
}

/** Clocks further apart than this do not agree, in milliseconds. */
export const clockToleranceMs = 60_000;
