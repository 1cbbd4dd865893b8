import type { WireAssertion, WirePolicy } from '../wire/index.ts';

/*
 * Engines of 0.1 refuse a whole bundle for one ALLOW under a condition that they do not know: a host with one of them would get no change
 * of the domain any more, and no revocation either (decision 034). So such ALLOWs stand in an entry of their own, which says that it is
 * not active: those engines leave it out, so that the ALLOW never counts, and take everything else. A DENY stays where it is: they count
 * it always.
 */

/** Mark after the version in the name of such an entry; no version has a `+`. */
const mark = '+conditions';

/** Operators that engines of 0.1 evaluate. Never extended: any other operator is later to them. */
const firstOperators: readonly string[] = ['EQUALS'];
const firstKeys: readonly string[] = [
  'enforcementstate',
  'instances',
  'scopeall',
  'scopeaws',
  'scopeazure',
  'scopegcp',
  'scopeonprem',
];

/** The policies as bundles have them. */
export function separateLaterConditions(policies: readonly WirePolicy[]): WirePolicy[] {
  return policies.flatMap((policy) => {
    const later = policy.active === false ? [] : policy.assertions.filter(isLater);
    if (later.length === 0) return [policy];
    const { version = '0' } = policy;
    return [
      { ...policy, assertions: policy.assertions.filter((assertion) => !isLater(assertion)) },
      { ...policy, version: `${version}${mark}`, active: false, assertions: later },
    ];
  });
}

/** A policy of a bundle as it is meant: the entries above are active, and of the version of their policy. */
export function readLaterConditions<Policy extends Pick<WirePolicy, 'active' | 'version'>>(policy: Policy): Policy {
  const { active, version } = policy;
  if (active !== false || version?.endsWith(mark) !== true) return policy;
  return { ...policy, active: true, version: version.slice(0, -mark.length) };
}

function isLater({ effect, conditions }: WireAssertion): boolean {
  if (effect === 'DENY' || conditions === undefined) return false;
  return conditions.conditionsList.some(({ conditionsMap }) =>
    Object.entries(conditionsMap).some(
      ([key, { operator }]) => !firstKeys.includes(key) || !firstOperators.includes(operator),
    ),
  );
}
