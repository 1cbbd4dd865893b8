/* Bounds of an access token, for the server that issues it, for its readers, and for a plan that foresees it. */

/** The longest token that a reader looks at, in characters. */
export const maxTokenLength = 16_384;

/** The longest token that a server issues, in characters: Node and most servers accept 16 KiB of headers in all, and a request has others. */
export const maxIssuedTokenLength = 12_288;

/** The most roles that a token carries. */
export const maxTokenRoles = 1000;
