import type { DomainName, GroupName, KeyId, PolicyName, RoleName, ServiceName } from '@signet/policy-engine/names';
import type { Effect, Jwk, KeyPurpose, WireConditions } from '@signet/policy-engine/wire';
import type { Values } from './fields.ts';
import type { recordFields } from './record-fields.ts';

/* Records of the store, as plain data. Times are milliseconds since the epoch, absent members are absent, lists are sorted by name. */

export interface MemberRecord extends Values<typeof recordFields.member> {
  readonly name: string;
}

/** A role without its members. */
export interface RoleFields extends Values<typeof recordFields.role> {
  readonly name: RoleName;
}

/** A group without its members. */
export interface GroupFields extends Values<typeof recordFields.group> {
  readonly name: GroupName;
}

export interface WithMembers {
  readonly members: readonly MemberRecord[];
}

export interface RoleRecord extends RoleFields, WithMembers {}

export interface GroupRecord extends GroupFields, WithMembers {}

export type ListKind = 'role' | 'group';

export type ListOf<Kind extends ListKind> = Kind extends 'role' ? RoleFields : GroupFields;

/** A role or a group. */
export interface ListKey<Kind extends ListKind = ListKind> {
  readonly kind: Kind;
  readonly domain: DomainName;
  readonly name: ListOf<Kind>['name'];
}

/** `domain:role.name`, `domain:group.name`. */
export function fullNameOf({ domain, kind, name }: ListKey): string {
  return `${domain}:${kind}.${name}`;
}

/** Membership of a principal in a role or group. */
export interface MemberEntry {
  readonly list: ListKey;
  readonly member: MemberRecord;
}

/** Assertion with full names: role `domain:role.name`, resource `domain:entity`. */
export interface AssertionRecord {
  readonly effect: Effect;
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly caseSensitive: boolean;
  readonly conditions?: WireConditions;
}

export interface PolicyRecord extends Values<typeof recordFields.policy> {
  readonly name: PolicyName;
  readonly version: string;
  readonly active: boolean;
  /** Assertions in their order. */
  readonly assertions: readonly AssertionRecord[];
}

/** An assertion as it is stored: the id is given by the store and stays as long as the rule does. */
export interface StoredAssertion extends AssertionRecord {
  readonly id: number;
}

export interface StoredPolicy extends PolicyRecord {
  readonly modified: number;
  readonly assertions: readonly StoredAssertion[];
}

export interface ServiceKeyRecord {
  readonly id: KeyId;
  /** SPKI PEM. */
  readonly pem: string;
  /** Registered by a principal that was no administrator of the domain. */
  readonly delegated?: true;
}

export interface ServiceRecord extends Values<typeof recordFields.service> {
  readonly name: ServiceName;
  /** Hosts in their order. */
  readonly hosts: readonly string[];
  readonly publicKeys: readonly ServiceKeyRecord[];
}

/** Kinds of objects whose number in a domain is limited. */
export const quotaKinds = ['roles', 'members', 'groups', 'policies', 'assertions', 'services', 'keys'] as const;
export type QuotaKind = (typeof quotaKinds)[number];

/** Maximum number of each kind in a domain, unless it has quotas of its own. */
export type Quotas = Readonly<Record<QuotaKind, number>>;

/** Quotas that differ from the server's. */
type DomainQuotas = Readonly<Partial<Quotas>>;

export type DomainLimits = Values<typeof recordFields.limits>;
export type DomainAccounts = Values<typeof recordFields.accounts>;

/** Domain attributes. */
export interface DomainFields extends Values<typeof recordFields.domain> {
  readonly name: DomainName;
  readonly limits: DomainLimits;
  readonly quotas?: DomainQuotas;
  readonly accounts: DomainAccounts;
}

export interface DomainContent extends DomainFields {
  readonly roles: readonly RoleRecord[];
  readonly groups: readonly GroupRecord[];
  readonly policies: readonly PolicyRecord[];
  readonly services: readonly ServiceRecord[];
}

/** Part of a domain beside its name and fields. */
export type DomainPart = Exclude<keyof DomainContent, 'name' | keyof typeof recordFields.domain>;

/** A domain as it is stored. */
export interface DomainRecord extends DomainContent, DomainAttributes {
  /** Earliest valid time of credentials as in `credentialsFrom`, for services whose name was used before. */
  readonly servicesFrom?: ReadonlyMap<ServiceName, number>;
  readonly policies: readonly StoredPolicy[];
}

/** A stored domain without what it consists of. */
export interface DomainAttributes extends DomainFields {
  /** Number of changes of a bundle's content, deletions and re-creations of the domain included. */
  readonly policyVersion: number;
  /** Time of that change. */
  readonly policyModified: number;
  /** The domain as one label of DNS names; absent where another domain has it. */
  readonly dnsForm?: string;
  /** Credentials issued before are those of a domain of this name that was deleted; absent when there was none. */
  readonly credentialsFrom?: number;
}

/** How many assertions a version of a policy has; those without any are left out. */
export interface AssertionCount {
  readonly policy: string;
  readonly version: string;
  readonly assertions: number;
}

/** Context of a change: the acting principal and the reason, which the audit log keeps beside the change itself. */
export interface ChangeContext {
  readonly actor: string;
  readonly reason?: string;
  readonly requestId?: string;
  readonly certificateSerial?: string;
}

/** What is done with a change request. */
export type RequestAction = 'request' | 'approve' | 'reject' | 'withdraw' | 'break-glass' | 'review';

export type AuditAction =
  | RequestAction
  | 'create'
  | 'change'
  | 'delete'
  | 'add-signing-key'
  | 'activate-signing-key'
  | 'seal-signing-key'
  | 'mark-key-compromised'
  | 'issue-certificate'
  | 'revoke-certificate'
  | 'revoke-instance'
  | 'delete-instance'
  | 'refuse-refresh'
  | 'end-service'
  | 'end-role'
  | 'reuse-name'
  | 'restore'
  | 'accept-loss'
  | 'accept-clock'
  | 'new-epoch'
  | 'refuse-credentials';

export interface AuditRecord extends ChangeContext {
  readonly id: number;
  readonly at: number;
  readonly action: AuditAction;
  /**
   * The domain, the id of a signing key, the serial number of a certificate, an instance (`provider/domain/service/id`), a service
   * (`domain:service.name`), a role, a principal that was given a certificate, `credentials`, or `store`.
   */
  readonly subject: string;
  /** The policy version of the domain after the change. */
  readonly version?: number;
  /** Differences only; JSON. */
  readonly before?: string;
  readonly after?: string;
}

/** The private half of a signing key, encrypted: for the store alone, never for a snapshot, an answer or a log. */
export interface SealedKey {
  /** The id of the sealing key that opens it. */
  readonly sealingKey: string;
  readonly text: string;
}

/** The public half of a signing key. */
export interface SigningKeyRecord {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly purpose: KeyPurpose;
  readonly algorithm: 'ES256';
  readonly publicJwk: Jwk;
  /** Times in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly activateAt: number;
  readonly compromisedAt?: number;
}
