/**
 * The part of the engine that needs no Node: names, policies, decisions and their explanation, the verification of bundles
 * and tokens. It runs wherever WebCrypto is, a browser included.
 */
export { type BundleFloor, type BundleVersion, isOlder } from './bundle/succession.ts';
export {
  type VerifiedBundle,
  type VerifyBundleOptions,
  verifyBundle,
} from './bundle/verify.ts';
export { type Clock, systemClock } from './clock.ts';
export { PolicyEngineError, type PolicyEngineErrorCode } from './errors.ts';
export {
  type CryptoKey,
  decodeJwkList,
  type KeySource,
  type KeysFetch,
  type KeysResponse,
  type KeysStore,
  type RemoteKeys,
  staticKeys,
  type WebKeys,
} from './keys/index.ts';
export * from './names/index.ts';
export * from './policy/index.ts';
export type { TokenFault, VerifiedAccessToken } from './token/claims.ts';
export {
  TokenVerifier,
  type VerifierOutcome,
  type VerifierRules,
  type VerifyRequest,
  type WebVerifierOptions,
} from './token/token-verifier.ts';
export { type TokenOutcome, type VerifyAccessTokenOptions, verifyAccessToken } from './token/verify.ts';
