/** Effect of an assertion on the requests that it matches; a `DENY` wins over every `ALLOW`. */
export type Effect = 'ALLOW' | 'DENY';

/** Assertion of a policy on the wire. `role` is `domain:role.name`, `resource` is `domain:entity`; each may hold `*` and `?`. */
export interface WireAssertion {
  id?: number;
  role: string;
  resource: string;
  action: string;
  effect?: Effect;
  caseSensitive?: boolean;
  /** Condition sets: each maps a key to an operator and a value. */
  conditions?: WireConditions;
}

/** Conditions of an assertion as the management server of the field stores them: a list of maps, any of which may hold. */
export interface WireConditions {
  conditionsList: { id?: number; conditionsMap: Record<string, { operator: string; value: string }> }[];
}

/** A policy on the wire: a named list of rules. `modified` is RFC 3339; one that is not `active` is in no bundle. */
export interface WirePolicy {
  /** `domain:policy.name`. */
  name: string;
  modified: string;
  version?: string;
  active?: boolean;
  caseSensitive?: boolean;
  assertions: WireAssertion[];
}

/** Payload of a bundle: one domain's policies (docs/reference/policy-bundles.md#payload). Timestamps are RFC 3339 UTC with milliseconds. */
export interface SignedPolicyData {
  policyData: { domain: string; policies: WirePolicy[] };
  /** Time of the domain's last change. */
  modified: string;
  /** Time at which this payload was made. */
  issued: string;
  expires: string;
  /** Number of changes of the domain. */
  version: number;
  /** Counter of restores of the store from a backup; a higher epoch wins over any version. */
  epoch: number;
  /** Present when chosen versions of policies were requested: such a payload is a preview and never in force. */
  policyVersions?: Record<string, string>;
}

/** A bundle: flattened JWS JSON (RFC 7515 §7.2.2) over the exact bytes of a `SignedPolicyData`. */
export interface JwsPolicyData {
  payload: string;
  protected: string;
  /** Unprotected header, only in the form of Athenz: names that stand in both headers are against RFC 7515 §7.2.1. */
  header?: { kid: string };
  signature: string;
}

/** Body of `POST /domain/{domainName}/policy/signed`. */
export interface SignedPolicyRequest {
  policyVersions?: Record<string, string> | null;
  signatureP1363Format?: boolean;
}
