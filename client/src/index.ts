export type { Access, AccessQuery, InRoleQuery, RolesQuery } from './access.ts';
export type { BundleAnswer, BundleOptions, Bundles } from './bundles.ts';
export { type ClientIdentity, type ClientOptions, createClient, type SignetClient } from './client.ts';
export { type ServerAnswer, SignetClientError, type SignetClientErrorCode } from './errors.ts';
export {
  type IdentityAgent,
  type IdentityAgentOptions,
  type IdentityOutcome,
  type IdentityTransport,
  openIdentityAgent,
} from './identity/identity-agent.ts';
export { type IdentityPaths, type IdentityTexts, identityPaths, readIdentityFiles } from './identity/identity-files.ts';
export type { InstanceName, ReceivedIdentity } from './identity/instance-requests.ts';
export type { InstanceQuery, Instances } from './instances.ts';
export type { Metadata, PublishedKeys } from './published-keys.ts';
export {
  createPrincipalTokenSource,
  type PrincipalToken,
  type PrincipalTokenOptions,
  type PrincipalTokenSource,
} from './tokens/principal-token.ts';
export type { AccessToken, IdToken, IdTokenQuery, TokenQuery, Tokens } from './tokens/tokens.ts';
