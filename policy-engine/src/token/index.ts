export { PolicyEngineError } from '../errors.ts';
export { type CryptoKey, decodeJwkList, type KeySource, sharesKey, staticKeys } from '../keys/index.ts';
export { maxIssuedTokenLength, maxTokenLength, maxTokenRoles } from '../wire/token-bounds.ts';
export type { TokenFault, VerifiedAccessToken } from './claims.ts';
export { type CertificateInput, certificateThumbprint } from './thumbprint.ts';
export {
  isExpired,
  type TokenOutcome,
  type VerifyAccessTokenOptions,
  verifyAccessToken,
} from './verify.ts';
