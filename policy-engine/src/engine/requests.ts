import type { AuthoritiesInput } from '../certificates/read-certificates.ts';
import type { Clock } from '../clock.ts';
import type { KeySource } from '../keys/index.ts';
import type { KeysInput } from '../loader/open-keys.ts';
import type { DirectoriesOptions } from '../loader/policy-directories.ts';
import type { OnError } from '../on-error.ts';
import type { DecisionContext } from '../policy/index.ts';
import type { RecordOptions } from '../records/decision-recorder.ts';
import type { CertificateInput } from '../token/thumbprint.ts';
import type { JwkList } from '../wire/index.ts';
import type { Meter } from './meter.ts';

/** Options that every engine has. */
export interface EngineOptions {
  /** Keys that verify tokens and bundles. Default: those of `<policyDir>/keys.json`; none for `fromDomains`. */
  keys?: KeySource | JwkList;
  /** Trusted issuers, compared exactly. Default: the one of `<policyDir>/keys.json`; none for `fromDomains`. */
  issuers?: readonly string[];
  /**
   * The domains that this service serves: tokens of other domains are refused, and with exactly one a resource without a domain
   * is one of it. Default: none said, so that every resource must name its domain.
   */
  domains?: readonly string[];
  /** Default: the clock of the machine. */
  clock?: Clock;
  /** Refuse tokens that are bound to no certificate. Default true. */
  requireBound?: boolean;
  /** Maximum lead of `nbf` and `iat` over the own clock, in seconds. Default 60; the expiry has no allowance. */
  skewSeconds?: number;
  /** Accepts also tokens with `typ` `JWT` or none, and without `iat`, `jti` or `client_id`. Default false: RFC 9068 §2. */
  legacyTypes?: boolean;
  /**
   * Accepts also the audience `domain:role` (`role_in_aud_claim` of Athenz); the role must be one of the token's. Default: as `athenzBundles`.
   */
  roleInAudience?: boolean;
  /** Refuse tokens that live longer, in seconds. Default: no bound of the verifier's own. */
  maxTokenLifeSeconds?: number;
  /** RSA keys of fewer bits are left out. Default and least: 2048. Keys of a `KeySource` of your own are not looked at. */
  minRsaBits?: number;
  /** How many verified tokens are kept. Default 10,000; 0 keeps none. */
  maxCachedTokens?: number;
  /** Recording of decisions. Default: none, which costs nothing. */
  records?: RecordOptions;
  /** Counter of decisions. Default: none, which costs nothing. */
  meter?: Meter;
  /** Called for every file that could not be used, and for every call that failed inside and was answered `DENY_INVALID_PARAMETERS`. */
  onError?: OnError;
}

/** Options of an engine that reads signed policy from a directory. */
export interface OpenOptions extends Omit<EngineOptions, 'keys'>, DirectoriesOptions {
  /** Keys that verify tokens and bundles, or where they are. Default: those of `<policyDir>/keys.json`. */
  keys?: KeysInput;
}

/** A request with a token. */
export interface DecideRequest {
  /** The token, or a header value with `Bearer` in front; of several a DENY wins, else an ALLOW, else the last answer. */
  token: string | readonly string[];
  action: string;
  /** `domain:entity`; `entity` alone where the engine was told that the service serves exactly one domain. */
  resource: string;
  /** Client certificate of the connection. A bound token is valid only with its certificate. */
  certificate?: CertificateInput | null | undefined;
  /** Values of the service for assertions with conditions. */
  context?: DecisionContext;
}

/** Query about many resources, with a token. */
export interface FilterRequest extends Omit<DecideRequest, 'resource'> {
  /** Each as `resource` of `DecideRequest`; at most 10,000. */
  resources: readonly string[];
}

/** A request for roles that the caller has established by itself. */
export interface DecideRolesRequest {
  domain: string;
  /** Short names. */
  roles: readonly string[];
  action: string;
  resource: string;
  context?: DecisionContext;
}

/** Query about many resources, for roles that the caller has established by itself. */
export interface FilterRolesRequest extends Omit<DecideRolesRequest, 'resource'> {
  /** Resources, at most 10,000. */
  resources: readonly string[];
}

/** A request with a role certificate (common name `domain:role.name`). */
export interface DecideRoleCertificateRequest {
  /** The certificate of the connection, with what its holder sent beside it (PEM texts and Node's own objects have that). */
  certificate: CertificateInput | null | undefined;
  action: string;
  /** Resource, in the form of `DecideRequest`. */
  resource: string;
  /**
   * The authorities that may issue role certificates. The certificate must lead to one of them by signatures; names prove nothing.
   * PEM text is parsed at each request, an `X509Certificate` is not.
   */
  authorities: AuthoritiesInput;
  context?: DecisionContext;
}
