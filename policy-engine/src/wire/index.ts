export type * from './access.ts';
export type * from './jwk.ts';
export type * from './resource-error.ts';
export type * from './signed-policy.ts';
export type * from './token.ts';
export { maxIssuedTokenLength, maxTokenLength, maxTokenRoles } from './token-bounds.ts';
