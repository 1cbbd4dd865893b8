import { type Decision, type DecisionContext, type DomainPolicy, decideInDomain } from '@signet/policy-engine/policy';

/** Approximate cost of a decision beside its search, in units of `maxWork` of the engine. */
const stepsADecision = 5;

/** Requested access. */
export interface Asked {
  readonly action: string;
  readonly resource: string;
  readonly context?: DecisionContext | undefined;
}

/** A decision, and what it has cost in units of `maxWork` of the engine: of many in one request each is paid. */
export function decideCounted(
  policy: DomainPolicy,
  roles: readonly string[],
  { action, resource, context }: Asked,
): { readonly decision: Decision; readonly work: number } {
  const before = policy.work.spent;
  const decision = decideInDomain(policy, roles, action, resource, context);
  return { decision, work: stepsADecision + policy.work.spent - before };
}
