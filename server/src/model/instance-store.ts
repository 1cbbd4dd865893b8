import type { DomainName, PathElement, PrincipalName, ServiceName } from '@signet/policy-engine/names';
import type { RecordingConditions } from './certificate-store.ts';

/** Key of an instance: its id is unique for its provider and service. */
export interface InstanceKey {
  readonly provider: PrincipalName;
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly instanceId: PathElement;
}

/** An instance that registered. Its serial lineage says which certificates may be exchanged for a new one. */
export interface InstanceRecord extends InstanceKey {
  readonly currentSerial: string;
  /** The one before, for an instance that never got the answer which carried the current one. */
  readonly previousSerial?: string | undefined;
  /** True if the previous one was accepted once; it is not accepted again. */
  readonly previousUsed: boolean;
  readonly revoked: boolean;
  /** True if its certificates are for clients only, also after a refresh. */
  readonly clientOnly: boolean;
  /** True if its provider, when it was last asked, allowed it SSH host certificates. */
  readonly sshAllowed: boolean;
  readonly hostname?: string | undefined;
  /** Seconds since the epoch. */
  readonly registeredAt: number;
  readonly refreshedAt: number;
  readonly notAfter: number;
}

/** The certificate that an instance is about to be given. */
export interface GivenCertificate {
  readonly serial: string;
  readonly fingerprint: string;
  /** Seconds since the epoch. */
  readonly notAfter: number;
}

export interface InstanceDetails {
  readonly clientOnly: boolean;
  /** SSH host certificates allowed; absent: no. */
  readonly sshAllowed?: boolean | undefined;
  readonly hostname?: string | undefined;
  /** The digest of the join token that attested it, spent in the same transaction: one that was spent or ended since registers nothing. */
  readonly joinToken?: string | undefined;
  /** Time of registration, in seconds since the epoch. */
  readonly at: number;
}

/** The serial number of the certificate that is exchanged for a new one. */
export interface PresentedSerial {
  readonly serial: string;
  /** Time of exchange, in seconds since the epoch. */
  readonly at: number;
}

/** The certificate of a refresh, and what the provider said beside it. */
export interface RefreshedCertificate extends GivenCertificate {
  /** SSH host certificates allowed; absent: no. */
  readonly sshAllowed?: boolean | undefined;
}

/** Position of a presented serial number in an instance's lineage. */
export type Lineage = 'current' | 'previous' | 'foreign' | 'missing' | 'revoked';

/** Rights of a certificate's holder to act as the instance. */
export interface InstanceStatus {
  readonly lineage: Lineage;
  readonly clientOnly: boolean;
  readonly sshAllowed: boolean;
}

/** `moved`, or how the presented serial number stood when it could not be exchanged. */
export type Rotation = 'moved' | Lineage;

/** A one-time right to register one instance. */
export interface JoinToken extends InstanceKey {
  /** Seconds since the epoch. */
  readonly expires: number;
  readonly createdBy: PrincipalName;
}

/** Earlier use of an attestation token: none, by this very instance, or by another one. */
export type TokenUse = 'first' | 'again' | 'foreign';

/** Filter of a list of instances. */
export interface InstanceQuery {
  readonly domain: DomainName;
  /** Filter: only instances of this service. */
  readonly service?: ServiceName | undefined;
  /** Service, provider and id of the last one of the page before. */
  readonly after?: readonly [service: string, provider: string, instanceId: string] | undefined;
  /** Maximum number of instances. */
  readonly limit: number;
}

/** Store of instances over their life. Each method is one transaction; all throw `StoreUnavailableError`. Times in seconds. */
export interface InstanceStore {
  find(key: InstanceKey): Promise<InstanceRecord | undefined>;
  /** Instances in the order of service, provider and id. */
  list(query: InstanceQuery): Promise<readonly InstanceRecord[]>;
  /** Rights of the holder of the certificate with this serial number; undefined when it is not a certificate of the instance. */
  statusOf(key: InstanceKey, presented: string): Promise<InstanceStatus | undefined>;
  /**
   * Confirms the certificate and starts a new lineage with it; an older record of the same instance is replaced. Throws as
   * `CertificateStore.confirm` does, and `ForbiddenError` when the join token cannot be spent: of any number of calls at once with one token,
   * exactly one registers.
   */
  register(
    key: InstanceKey,
    given: GivenCertificate,
    details: InstanceDetails,
    conditions?: RecordingConditions,
  ): Promise<void>;
  /**
   * Confirms the certificate and moves the lineage on, when the presented serial is the current one (which becomes the previous) or
   * the previous one for the first time (which stays). Otherwise nothing changes. Throws as `CertificateStore.confirm` does.
   */
  rotate(
    key: InstanceKey,
    presented: PresentedSerial,
    given: RefreshedCertificate,
    conditions?: RecordingConditions,
  ): Promise<Rotation>;
  /**
   * Remembers what the provider says of SSH where no certificate is recorded with it, when the presented serial is the current or the
   * previous one; answers how it stands.
   */
  allowSsh(key: InstanceKey, presented: string, allowed: boolean): Promise<Lineage>;
  /** Stores a join token by the digest of its text. Throws what the conditions throw. */
  addJoinToken(digest: string, token: JoinToken, conditions?: RecordingConditions): Promise<void>;
  /** True if the token would register this instance at that time. */
  isJoinTokenOpen(digest: string, key: InstanceKey, at: number): Promise<boolean>;
  /** Forgets at most `limit` join tokens, spent or not, that ended before; answers how many. */
  pruneJoinTokens(endedBefore: number, limit: number): Promise<number>;
  /**
   * Remembers that an attestation token counted for this instance: of any number of calls at once, exactly one is answered `first`.
   * After that `again` for the same instance, and `foreign` for another one.
   */
  spendAttestationToken(digest: string, key: InstanceKey, expires: number): Promise<TokenUse>;
  /** Forgets at most `limit` attestation tokens that expired before; answers how many. */
  pruneAttestationTokens(expiredBefore: number, limit: number): Promise<number>;
}
