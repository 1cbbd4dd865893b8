/** An access token (RFC 6749 §5.1). */
export interface AccessToken {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Full names of the granted roles, e.g. `catalog:role.reader`; may be fewer than were asked for (docs/reference/tokens.md#granted-roles). */
  readonly scope: readonly string[];
  /** Milliseconds since the epoch, by the client's clock: the time of asking plus the life that the server granted. */
  readonly expiresAt: number;
}

/** An ID token with the access token that always comes with it. */
export interface IdToken extends AccessToken {
  readonly idToken: string;
}

/** A token as it is kept. */
export interface CachedToken {
  readonly token: AccessToken & { readonly idToken?: string };
  /** The asked-for life, or the granted one when nothing was asked for. */
  readonly lifetimeMs: number;
}
