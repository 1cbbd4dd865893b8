export { PolicyEngineError } from '../errors.ts';
export { type KeySource, sharesKey, staticKeys } from '../keys/index.ts';
export { type BundleInput, buildBundle } from './build.ts';
export type { BundlePayload } from './decode-payload.ts';
export {
  type BundleForm,
  type BundleInParts,
  type BundleSigningKey,
  bundleText,
  signBundle,
  signBundleInParts,
  withDerSignature,
} from './sign.ts';
export {
  type BundleFloor,
  type BundleVersion,
  isOlder,
  isSameFloor,
  type KnownFloor,
  maxVersionJump,
  raiseFloor,
  refuseSuccessor,
} from './succession.ts';
export {
  freshUntil,
  issuedSkew,
  maxBundleBytes,
  maxBundleLifeMs,
  type VerifiedBundle,
  type VerifyBundleOptions,
  verifyBundle,
} from './verify.ts';
