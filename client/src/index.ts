export { parseHttpDate } from '@signet/policy-engine/clock';
export { secureServerOptions } from '@signet/policy-engine/http';
export {
  type Access,
  type AccessAnswer,
  type AccessQuery,
  type InRoleQuery,
  principalTokenHeaders,
  type RolesQuery,
} from './access.ts';
export type { Aws, AwsCredentialProvider, AwsCredentials, AwsQuery } from './aws.ts';
export type { BundleAnswer, BundleDomainsAnswer, BundleOptions, Bundles } from './bundles.ts';
export type {
  Certificates,
  IssuedCertificate,
  PrincipalCertificate,
  PrincipalCertificateQuery,
  RoleCertificate,
  RoleCertificateQuery,
  ServiceCertificateQuery,
} from './certificates.ts';
export { type ClientIdentity, type ClientOptions, createClient, type SignetClient } from './client.ts';
export { type ServerAnswer, SignetClientError, type SignetClientErrorCode } from './client-errors.ts';
export { checkIdentity, type IdentitySource } from './http/identity.ts';
export {
  type IdentityAgent,
  type IdentityAgentOptions,
  type IdentityOutcome,
  openIdentityAgent,
} from './identity/identity-agent.ts';
export {
  type IdentityPaths,
  type IdentityTexts,
  identityPaths,
  readIdentityFiles,
  writeIdentityFiles,
} from './identity/identity-files.ts';
export type { IdentityTransport } from './identity/identity-transport.ts';
export type { InstanceName, ReceivedIdentity } from './identity/instance-requests.ts';
export { type IdentityLife, identityLife } from './identity/renewal.ts';
export type { InstanceQuery, Instances } from './instances.ts';
export type { KeyResolver } from './key-resolver.ts';
export { createLogin, type Login, type LoginCertificate, type LoginIssuer, type LoginOptions } from './login.ts';
export type { Metadata, PublishedKeys } from './published-keys.ts';
export type { RoleListQuery, Roles } from './roles.ts';
export {
  readSshCertificate,
  type SshCertificate,
  type SshCertificateFacts,
  type SshCertificates,
  type SshRevocationQuery,
  type SshUserCertificateQuery,
} from './ssh-certificates.ts';
export type { Target, TargetFetch, TargetRequest } from './target-fetch.ts';
export type { AccessToken, IdToken } from './tokens/cached-token.ts';
export {
  createPrincipalTokenSource,
  type PrincipalToken,
  type PrincipalTokenKey,
  type PrincipalTokenOptions,
  type PrincipalTokenSource,
} from './tokens/principal-token.ts';
export {
  type KeptTokenOutcome,
  openTokenKeeper,
  type TokenKeeper,
  type TokenKeeperOptions,
} from './tokens/token-keeper.ts';
export type { IdTokenQuery, TokenQuery, Tokens } from './tokens/tokens.ts';
