export type { AssertionInput, PolicyInput } from './assertion.ts';
export {
  type ConditionOperator,
  ContextValue,
  conditionOperators,
  type Landmarks,
  type OperatorRule,
  operatorRules,
  type ValueTest,
} from './condition-operators.ts';
export {
  type CompiledConditions,
  type Condition,
  type ConditionKey,
  compileConditions,
  conditionKeys,
  conditionsCount,
  type DecisionContext,
  type FoldedContext,
  foldContext,
} from './conditions.ts';
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
export { type Status, statuses, statusMeaning, statusRemedy, withoutCertificate } from './status.ts';
export { valueSamples } from './value-samples.ts';
export {
  maxActionLength,
  maxPatternLength,
  maxResourceLength,
  maxWildcards,
  maxWork,
  Work,
  WorkExceededError,
} from './work.ts';
