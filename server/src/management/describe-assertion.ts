import { conditionOperators, operatorRules } from '@signet/policy-engine/policy';
import type { WireConditions } from '@signet/policy-engine/wire';

interface DescribedAssertion {
  readonly effect?: string | undefined;
  readonly action: string;
  readonly resource: string;
  readonly role: string;
  readonly conditions?: WireConditions | undefined;
}

/** An assertion in words: `ALLOW read on catalog:movie for catalog:role.reader where instances is h1,h2`. */
export function describeAssertion({
  effect = 'ALLOW',
  action,
  resource,
  role,
  conditions,
}: DescribedAssertion): string {
  return `${effect} ${action} on ${resource} for ${role}${describeConditions(conditions)}`;
}

/** Conditions in words, with a blank in front: ` where instances is h1,h2`; empty for none. */
export function describeConditions(conditions: WireConditions | undefined): string {
  const sets = (conditions?.conditionsList ?? []).map(({ conditionsMap }) =>
    Object.entries(conditionsMap)
      .map(([key, { operator, value }]) => `${key} ${wordsOf(operator)} ${value}`)
      .join(' and '),
  );
  return sets.length === 0 ? '' : ` where ${sets.join(' or ')}`;
}

/** An operator of a newer version is named as it is. */
function wordsOf(name: string): string {
  const operator = conditionOperators.find((known) => known === name.toUpperCase());
  return operator === undefined ? name : operatorRules[operator].words.holds;
}
