/** Decides in-process, from signed policy, whether a token may do an action on a resource. */
export type { AuthoritiesInput } from './certificates/read-certificates.ts';
export { type Clock, systemClock } from './clock.ts';
export type { CredentialChange, Explanation } from './engine/explanation.ts';
export type { DropReason, Meter } from './engine/meter.ts';
export type {
  DecideRequest,
  DecideRoleCertificateRequest,
  DecideRolesRequest,
  EngineOptions,
  FilterRequest,
  FilterRolesRequest,
  OpenOptions,
} from './engine/requests.ts';
export { TokenVerifier, type TokenVerifierOptions } from './engine/token-verifier.ts';
export { PolicyEngine } from './engine.ts';
export { PolicyEngineError, type PolicyEngineErrorCode } from './errors.ts';
export {
  type CryptoKey,
  type KeySource,
  type KeysFetch,
  type KeysResponse,
  type KeysStore,
  type RemoteKeys,
  staticKeys,
} from './keys/index.ts';
export type { DomainHealth, EngineHealth, HealthError } from './loader/health.ts';
export type { KeysInput, NodeRemoteKeys } from './loader/open-keys.ts';
export type { KeysTls } from './loader/tls-fetch.ts';
export { secureServerOptions } from './middleware/tls-options.ts';
export {
  type AssertionInput,
  type Change,
  type ConditionKey,
  type DecidingAssertion,
  type Decision,
  type DecisionContext,
  type Dimension,
  type DomainPolicy,
  type NearMiss,
  type PolicyInput,
  type PolicyRevision,
  type Status,
  statuses,
  statusMeaning,
  statusRemedy,
} from './policy/index.ts';
export type { DecisionRecord, RecordCounts, RecordOptions } from './records/decision-recorder.ts';
export {
  type CertificateInput,
  certificateThumbprint,
  type TokenFault,
  type TokenOutcome,
  type VerifiedAccessToken,
} from './token/index.ts';
export type { VerifierOutcome, VerifierRules, VerifyRequest } from './token/token-verifier.ts';
export type { Effect, JwkList } from './wire/index.ts';
