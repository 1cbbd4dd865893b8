/** Decides in-process, from signed policy, whether a token may do an action on a resource. */
export { type Clock, systemClock } from './clock.ts';
export {
  type DecideRequest,
  type DecideRoleCertificateRequest,
  type DecideRolesRequest,
  type EngineOptions,
  type OpenOptions,
  PolicyEngine,
} from './engine.ts';
export { PolicyEngineError, type PolicyEngineErrorCode } from './errors.ts';
export { type CryptoKey, type KeySource, staticKeys } from './keys/index.ts';
export type { DomainHealth, EngineHealth, HealthError } from './loader/health.ts';
export {
  type AssertionInput,
  type ConditionKey,
  type DecidingAssertion,
  type Decision,
  type DecisionContext,
  type PolicyInput,
  type PolicyRevision,
  type Status,
  statuses,
  statusMeaning,
} from './policy/index.ts';
export { type CertificateInput, certificateThumbprint } from './token/index.ts';
export type { Effect, JwkList } from './wire/index.ts';
