import type { Columns } from '../model/fields.ts';
import type { recordFields } from '../model/record-fields.ts';

/* The tables as the query layer sees them. Flags are 0 or 1, times milliseconds since the epoch where nothing else is said, JSON is text. */

interface MetaTable {
  id: number;
  epoch: number;
  counter: number;
  next_id: number;
  created_at: number;
  /** The hash of the newest audit record, empty before the first. */
  audit_head: string;
  /** Signs the cursors of lists. */
  paging_secret: string;
  /** Number of transactions with changes. */
  sequence: number;
  /** The time of the newest of them, by the clock of its writer; 0 before the first. */
  written_at: number;
  /** The process that wrote it. */
  written_by: string;
}

/** Things that each change touched; see `change-rows.ts`. */
interface ChangesTable {
  /** The change counter that the change left behind. */
  seq: number;
  /** Empty for what is of no domain. */
  domain: string;
  kind: string;
  key: string;
}

export interface DomainsTable extends Columns<typeof recordFields.domain>, Columns<typeof recordFields.limits> {
  name: string;
  /** Kept after deletion, so that a version never falls when the name is used again. */
  deleted: number;
  policy_version: number;
  policy_modified: number;
  /** JSON; null where those of the server are in force. */
  quotas: string | null;
  /** The name as one DNS label; null where another domain has it. */
  dns_form: string | null;
  /** Credentials that were issued before are those of a domain of this name that was deleted; 0 when there was none. */
  credentials_from: number;
}

/** Domains and services (`domain.service`) that were deleted, and whose name was not used again since. */
interface EndedNamesTable {
  name: string;
  ended_at: number;
  ended_by: string;
}

/** Change requests; texts of JSON: `outcome`, `content`, `approvals`. */
export interface ChangeRequestsTable {
  id: number;
  kind: string;
  state: string;
  author: string;
  created_at: number;
  expires_at: number;
  closed_at: number | null;
  reason: string | null;
  /** The names of its domains, each between blanks. */
  domains: string;
  needed: number;
  certificate: string | null;
  effect: string | null;
  outcome: string | null;
  content: string;
  approvals: string;
}

export interface CloudAccountsTable {
  domain: string;
  provider: string;
  account: string;
}

interface RolesTable extends Columns<typeof recordFields.role> {
  domain: string;
  name: string;
  member_count: number;
}

/** A member of a role or group. */
export interface MembersTable extends Columns<typeof recordFields.member> {
  domain: string;
  kind: 'role' | 'group';
  /** The role or group. */
  list: string;
  member: string;
}

interface GroupsTable extends Columns<typeof recordFields.group> {
  domain: string;
  name: string;
  member_count: number;
}

interface PoliciesTable extends Columns<typeof recordFields.policy> {
  domain: string;
  name: string;
  version: string;
  active: number;
  modified: number;
}

export interface AssertionsTable {
  id: number;
  domain: string;
  policy: string;
  version: string;
  position: number;
  effect: string;
  role: string;
  action: string;
  resource: string;
  case_sensitive: number;
  conditions: string | null;
}

interface ServicesTable extends Columns<typeof recordFields.service> {
  domain: string;
  name: string;
  /** Credentials that were issued before are those of a service of this name that was deleted; 0 when there was none. */
  credentials_from: number;
}

interface ServiceKeysTable {
  domain: string;
  service: string;
  key_id: string;
  pem: string;
  created_at: number;
  /** 1: registered by a principal that was no administrator of the domain. */
  delegated: number;
}

interface ServiceHostsTable {
  domain: string;
  service: string;
  position: number;
  host: string;
}

/** Times in seconds, as in certificates. */
export interface InstancesTable {
  provider: string;
  domain: string;
  service: string;
  instance_id: string;
  current_serial: string;
  previous_serial: string | null;
  /** 1: the previous one has been accepted once. */
  previous_used: number;
  revoked: number;
  client_only: number;
  /** Last answer of the provider. */
  ssh_allowed: number;
  hostname: string | null;
  registered_at: number;
  refreshed_at: number;
  not_after: number;
}

/** Times in seconds. */
interface JoinTokensTable {
  digest: string;
  provider: string;
  domain: string;
  service: string;
  instance_id: string;
  expires: number;
  created_by: string;
  spent_at: number | null;
  /** Time when its instance was deleted or revoked. */
  ended_at: number | null;
}

/** Signed tokens that attested an instance, until they end by themselves. Times in seconds. */
interface AttestationTokensTable {
  digest: string;
  provider: string;
  domain: string;
  service: string;
  instance_id: string;
  expires: number;
}

/** Times in seconds. */
export interface CertificatesTable {
  serial: string;
  issuer: string;
  kind: string;
  /** `intended` before it is signed, then `issued`. */
  state: string;
  subject: string;
  holder: string;
  provider: string | null;
  instance_id: string | null;
  /** The id of the registered key by which a service's certificate was given. */
  vouched_key: string | null;
  /** The serial number of the X.509 certificate that asked for one of SSH. */
  asking_serial: string | null;
  /** Who asked for it: its holder by a log-in of its own, or another; null where that is not known. */
  asked_by: string | null;
  intended_at: number;
  not_before: number;
  not_after: number;
  fingerprint: string | null;
  revoked_at: number | null;
  revocation_reason: string | null;
  revoked_by: string | null;
  /** Place in the order of the store's revocations. */
  revocation_sequence: number | null;
}

interface RevocationListsTable {
  issuer: string;
  number: number;
  /** The last revocation that the list knows. */
  sequence: number;
  /** Seconds since the epoch. */
  this_update: number;
  next_update: number;
  /** DER in base64; absent when another one must be made. */
  list: string | null;
}

export interface AuditTable {
  id: number;
  at: number;
  actor: string;
  certificate_serial: string | null;
  request_id: string | null;
  reason: string | null;
  action: string;
  subject: string;
  version: number | null;
  counter: number;
  before: string | null;
  after: string | null;
  /** SHA-256 over this record and the hash of the one before it. */
  hash: string;
}

/** Objects of a domain that an audit record concerns. */
interface AuditObjectsTable {
  domain: string;
  kind: string;
  name: string;
  audit_id: number;
}

export interface SigningKeysTable {
  kid: string;
  purpose: string;
  algorithm: string;
  public_jwk: string;
  created_at: number;
  activate_at: number;
  compromised_at: number | null;
  /** The id of the key that the private half is sealed with; null where that is kept elsewhere. */
  sealing_key: string | null;
  sealed: string | null;
}

export interface Schema {
  change_requests: ChangeRequestsTable;
  meta: MetaTable;
  changes: ChangesTable;
  domains: DomainsTable;
  ended_names: EndedNamesTable;
  cloud_accounts: CloudAccountsTable;
  roles: RolesTable;
  groups: GroupsTable;
  members: MembersTable;
  policies: PoliciesTable;
  assertions: AssertionsTable;
  services: ServicesTable;
  service_keys: ServiceKeysTable;
  service_hosts: ServiceHostsTable;
  instances: InstancesTable;
  join_tokens: JoinTokensTable;
  attestation_tokens: AttestationTokensTable;
  certificates: CertificatesTable;
  revocation_lists: RevocationListsTable;
  audit: AuditTable;
  audit_objects: AuditObjectsTable;
  signing_keys: SigningKeysTable;
}

/** Every table, in an order in which each row comes after those that it refers to. */
export const tableNames = [
  'meta',
  'domains',
  'cloud_accounts',
  'roles',
  'groups',
  'members',
  'policies',
  'assertions',
  'services',
  'service_keys',
  'service_hosts',
  'ended_names',
  'signing_keys',
  'instances',
  'join_tokens',
  'attestation_tokens',
  'certificates',
  'revocation_lists',
  'change_requests',
  'audit',
  'audit_objects',
  'changes',
] as const satisfies readonly (keyof Schema)[];
