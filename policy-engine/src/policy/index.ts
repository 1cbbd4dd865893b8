export type { AssertionInput, PolicyInput } from './assertion.ts';
export { type ConditionKey, conditionKeys, type DecisionContext } from './conditions.ts';
export { decideInDomain } from './decide.ts';
export type { DecidingAssertion, Decision, PolicyRevision } from './decision.ts';
export {
  type CompileOptions,
  compileDomain,
  compileInSteps,
  type DomainPolicy,
} from './domain-policy.ts';
export {
  type Change,
  type Dimension,
  explainInDomain,
  type NearMiss,
  type PolicyExplanation,
} from './explain.ts';
export { matchesFolded, matchesPattern, patternProblem } from './pattern.ts';
export { type Status, statuses, statusMeaning } from './status.ts';
export {
  maxActionLength,
  maxPatternLength,
  maxResourceLength,
  maxWildcards,
  maxWork,
  Work,
  WorkExceededError,
} from './work.ts';
