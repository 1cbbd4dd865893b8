import type { WireConditions } from '@signet/policy-engine/wire';

interface Rule {
  readonly effect?: string | undefined;
  readonly action: string;
  readonly resource: string;
  readonly role: string;
  readonly conditions?: WireConditions | undefined;
}

/** A rule in words: `ALLOW read on catalog:movie for catalog:role.reader where instances is h1,h2`. */
export function describeRule({ effect = 'ALLOW', action, resource, role, conditions }: Rule): string {
  return `${effect} ${action} on ${resource} for ${role}${describeConditions(conditions)}`;
}

function describeConditions(conditions: WireConditions | undefined): string {
  const sets = (conditions?.conditionsList ?? []).map(({ conditionsMap }) =>
    Object.entries(conditionsMap)
      .map(([key, { value }]) => `${key} is ${value}`)
      .join(' and '),
  );
  return sets.length === 0 ? '' : ` where ${sets.join(' or ')}`;
}
