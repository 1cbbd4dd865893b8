/** Answer of `POST /oauth2/token` (RFC 6749 §5.1; docs/reference/tokens.md#granted-roles: `scope` is a space-separated string, always present). */
export interface AccessTokenResponse {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds that the access token is valid. */
  expires_in: number;
  scope: string;
  id_token?: string;
}

/** Claims of an access token (RFC 9068, docs/reference/tokens.md#access-tokens). Times are Unix seconds. */
export interface AccessTokenClaims {
  ver: number;
  iss: string;
  aud: string;
  sub: string;
  uid: string;
  client_id: string;
  iat: number;
  exp: number;
  auth_time: number;
  jti: string;
  /** Short names of the granted roles. */
  scp: string[];
  /** The same names, joined by blanks. */
  scope: string;
  /**
   * RFC 8705 §3.1: base64url SHA-256 of the DER certificate that the token is bound to. In the profile `athenz` perhaps with the SPIFFE ids
   * of proxies that may present it as well, where services know them.
   */
  cnf?: { 'x5t#S256': string; 'proxy-principals#spiffe'?: readonly string[] };
}

/** Claims of an ID token (docs/reference/tokens.md#id-tokens). Times are Unix seconds. */
export interface IdTokenClaims {
  ver: number;
  iss: string;
  aud: string;
  sub: string;
  iat: number;
  exp: number;
  auth_time: number;
  /** Nonce as requested, and roles and groups of the principal, where the token was asked for alone (profile `athenz`). */
  nonce?: string;
  groups?: readonly string[];
}
