import type { DomainName, PathElement, PrincipalName, ServiceName } from '@signet/policy-engine/names';

/** What names an instance: its id is unique for its provider and service. */
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
  readonly revoked: boolean;
  /** Whether its certificates are for clients only, also after a refresh. */
  readonly clientOnly: boolean;
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
  readonly hostname?: string | undefined;
}

/** How a presented serial number stands to an instance's lineage. */
export type Lineage = 'current' | 'previous' | 'foreign' | 'missing' | 'revoked';

/** How the holder of one of an instance's certificates stands to it. */
export interface Standing {
  readonly lineage: Lineage;
  readonly clientOnly: boolean;
}

/** `moved`, or how the presented serial number stood when it could not be exchanged. */
export type Rotation = 'moved' | Lineage;

/** A one-time right to register one instance. */
export interface JoinToken extends InstanceKey {
  /** Seconds since the epoch. */
  readonly expires: number;
  readonly createdBy: PrincipalName;
}

/** Which instances are listed. */
export interface InstanceQuery {
  readonly domain: DomainName;
  /** Only those of this one. */
  readonly service?: ServiceName | undefined;
  /** Service, provider and id of the last one of the page before. */
  readonly after?: readonly [service: string, provider: string, instanceId: string] | undefined;
  /** At most this many. */
  readonly limit: number;
}

/** What the life of instances keeps. Each method is one transaction; all throw `StoreUnavailableError`. Times in seconds. */
export interface InstanceStore {
  find(key: InstanceKey): Promise<InstanceRecord | undefined>;
  /** In the order of service, provider and id. */
  list(query: InstanceQuery): Promise<readonly InstanceRecord[]>;
  /** How the holder of the certificate with this serial number stands to the instance; undefined when it is none of its certificates. */
  standing(key: InstanceKey, presented: string): Promise<Standing | undefined>;
  /** Confirms the certificate and starts a new lineage with it; an older record of the same instance is replaced. */
  register(key: InstanceKey, given: GivenCertificate, details: InstanceDetails, at: number): Promise<void>;
  /**
   * Confirms the certificate and moves the lineage on, when the presented serial is the current one (which becomes the previous) or
   * the previous one (which stays). Otherwise nothing changes.
   */
  rotate(key: InstanceKey, presented: string, given: GivenCertificate, at: number): Promise<Rotation>;
  /** Keeps a join token by the digest of its text. */
  addJoinToken(digest: string, token: JoinToken): Promise<void>;
  /** Spends a token for this instance: of any number of calls at once, exactly one is answered true. */
  spendJoinToken(digest: string, key: InstanceKey, at: number): Promise<boolean>;
  /** Forgets at most `limit` join tokens, spent or not, that ended before; answers how many. */
  pruneJoinTokens(endedBefore: number, limit: number): Promise<number>;
}
