/** Kind of signature that a published key verifies: a token key never verifies a bundle, nor the other way round. */
export type KeyPurpose = 'token' | 'bundle';

/** A public key as `GET /oauth2/keys` answers it (RFC 7517). Only public members, `kid` is the RFC 7638 thumbprint. */
export interface Jwk {
  kty: 'EC' | 'RSA';
  kid: string;
  alg: string;
  use: 'sig';
  /** `P-256` with `rfc=true`, else `prime256v1`. */
  crv?: string;
  x?: string;
  y?: string;
  n?: string;
  e?: string;
  /** Private member (RFC 7517 §4). Absent, as in key sets of other makers: the key may verify both kinds. */
  purpose?: KeyPurpose;
}

/** Answer of `GET /oauth2/keys`. */
export interface JwkList {
  keys: Jwk[];
}
