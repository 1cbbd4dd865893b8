import {
  type DomainName,
  type KeyId,
  type PrincipalName,
  type RoleName,
  type ServiceName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import type { DomainPolicy } from '@signet/policy-engine/policy';
import type { WirePolicy } from '@signet/policy-engine/wire';
import type { DomainAccounts, DomainLimits, RoleFields, ServiceRecord, SigningKeyRecord } from '../model/records.ts';
import type { DomainMembers } from './domain-members.ts';

export type RoleSnapshot = Omit<RoleFields, 'description'>;

export interface ServiceSnapshot extends Omit<ServiceRecord, 'description' | 'publicKeys'> {
  /** SPKI PEM. */
  readonly publicKeys: ReadonlyMap<KeyId, string>;
  /** Credentials issued before (milliseconds since the epoch) are those of a service of this name that was deleted; 0 when there was none. */
  readonly credentialsFrom: number;
}

/** Enabled domain, compiled, without its members. */
export interface DomainSnapshot {
  readonly name: DomainName;
  /** The domain as one label of DNS names; absent where another domain has it. */
  readonly dnsForm?: string;
  /** Earliest valid issue, as for a service: earlier certificates of its roles are those of a deleted domain. */
  readonly credentialsFrom: number;
  /** Number of changes of a bundle's content. */
  readonly policyVersion: number;
  /** Time of that change, in milliseconds since the epoch. */
  readonly policyModified: number;
  readonly roles: ReadonlyMap<RoleName, RoleSnapshot>;
  readonly services: ReadonlyMap<ServiceName, ServiceSnapshot>;
  /** Every version of every policy, as bundles and exports carry them. */
  readonly policies: readonly WirePolicy[];
  /** The active versions, compiled. */
  readonly policy: DomainPolicy;
  /** Assertions about resources of other domains, with full names; absent when there are none (facts of `assume_role`). */
  readonly foreignPolicy?: DomainPolicy;
  /** Readers of its bundle; absent if it names none. */
  readonly bundleReaders?: readonly PrincipalName[];
  /** Approvals by other persons that every change of the domain needs; absent: none. */
  readonly approvals?: number;
  readonly limits: DomainLimits;
  readonly accounts: DomainAccounts;
  /** Roles that holders of a role may assume: full role names or patterns of the active `assume_role` assertions that are not DENY. */
  readonly assumable: ReadonlyMap<RoleName, readonly string[]>;
  /** The roles whose holders may assume another one of this domain, by that one; by its exact name, not by a pattern. */
  readonly assumers: ReadonlyMap<RoleName, readonly RoleName[]>;
  readonly trusting: ReadonlyMap<DomainName, readonly RoleName[]>;
}

/** Snapshot of the store at one instant, with everything that reads need; immutable. */
export interface Snapshot {
  /** Counter of restores of the store from a backup. */
  readonly epoch: number;
  /** Number of changes of the store. */
  readonly counter: number;
  /** See `StoreState`. */
  readonly head: string;
  /** The enabled domain of that name. */
  domain(name: DomainName): DomainSnapshot | undefined;
  readonly domains: ReadonlyMap<DomainName, DomainSnapshot>;
  /** Members of the roles and groups of each of them. */
  readonly members: ReadonlyMap<DomainName, DomainMembers>;
  /** Domains that name a service as a reader of their bundles, by service, sorted. */
  readonly bundleDomains: ReadonlyMap<PrincipalName, readonly DomainName[]>;
  /** Disabled domains: their services cannot authenticate. */
  readonly disabledDomains: ReadonlySet<DomainName>;
  /** Domains whose last change cannot be used: what they were before is in force, or they are missing. */
  readonly outdatedDomains: ReadonlySet<DomainName>;
  /** True if services may exist that are not in it: of documents, or of some domains of a store. */
  readonly isPart: boolean;
  readonly signingKeys: readonly SigningKeyRecord[];
}

/**
 * State of a principal in the snapshot (docs/reference/authentication.md#disabled-deleted-revoked): a service that is registered and enabled is
 * `active`; one that is disabled, or whose domain is, `disabled`; everything else (deleted, never registered, a user) `unknown`.
 */
type PrincipalState = 'active' | 'disabled' | 'unknown';

export function principalState(snapshot: Snapshot, principal: PrincipalName): PrincipalState {
  const name = splitPrincipal(principal);
  if (name === undefined) return 'unknown';
  // INVARIANT: a member `user.*` means users, and never services of a domain below `user`.
  if (isBelowUser(name.domain)) return 'disabled';
  if (snapshot.disabledDomains.has(name.domain)) return 'disabled';
  const service = snapshot.domain(name.domain)?.services.get(name.service);
  if (service === undefined) return 'unknown';
  return service.enabled ? 'active' : 'disabled';
}

/** True for the name of a user; users are registered nowhere. */
export function isUser(principal: PrincipalName): boolean {
  return /^user\.[^.]+$/.test(principal);
}

/**
 * True if a principal holds no role and is in no group, whatever names it: a service that is disabled, or that does not exist. Wildcards do not
 * cover a name that was deleted, or was never registered; tokens, certificates and all answers about access use this check.
 */
export function holdsNothing(snapshot: Snapshot, principal: PrincipalName): boolean {
  const state = principalState(snapshot, principal);
  if (state !== 'unknown') return state === 'disabled';
  return !snapshot.isPart && !isUser(principal) && splitPrincipal(principal) !== undefined;
}

/** True if the services of a domain would match members such as `user.*`. */
export function isBelowUser(domain: DomainName): boolean {
  return domain.startsWith('user.');
}
