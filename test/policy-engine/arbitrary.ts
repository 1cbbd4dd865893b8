import type { AssertionInput, DecisionContext, PolicyInput } from '@signet/policy-engine';
import type { WireConditions } from '@signet/policy-engine/wire';
import fc from 'fast-check';
import { conditionValues } from '#support/condition-values';

/** Texts over so few letters that patterns meet them often. */
const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 6 });
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'A', '*', '?'), minLength: 1, maxLength: 5 });
const withCapitals = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'A', 'B'), minLength: 1, maxLength: 6 });
const mostlyNames = fc.oneof(
  { weight: 8, arbitrary: name },
  { weight: 12, arbitrary: pattern },
  { weight: 1, arbitrary: fc.constant('') },
);

const condition = fc.oneof(
  ...Object.entries(conditionValues).map(([operator, { overLetters }]) =>
    fc.constantFrom(...overLetters).map((value) => ({ operator, value })),
  ),
  fc.constantFrom('equals', 'in_cidr', 'SOUNDS_LIKE').map((operator) => ({ operator, value: '10.0.0.0/8' })),
);
const conditions: fc.Arbitrary<WireConditions> = fc.record({
  conditionsList: fc.array(
    fc.record({
      conditionsMap: fc.dictionary(fc.constantFrom('instances', 'enforcementstate', 'SCOPEAWS'), condition, {
        maxKeys: 2,
      }),
    }),
    { maxLength: 2 },
  ),
});

const assertion: fc.Arbitrary<AssertionInput> = fc
  .record({
    effect: fc.constantFrom('ALLOW', 'ALLOW', 'ALLOW', 'DENY', undefined),
    rolePrefix: fc.constantFrom('', '', 'role.', 'd:role.', 'x:role.'),
    role: mostlyNames,
    action: mostlyNames,
    resourcePrefix: fc.constantFrom('', '', 'd:', 'D:', 'x:'),
    resource: mostlyNames,
    conditions: fc.option(conditions, { nil: undefined, freq: 4 }),
  })
  .map(({ effect, rolePrefix, role, action, resourcePrefix, resource, conditions: kept }) => ({
    ...(effect !== undefined && { effect }),
    role: rolePrefix + role,
    action,
    resource: resourcePrefix + resource,
    ...(kept !== undefined && { conditions: kept }),
  }));

/** Many wildcard patterns in one dimension, all else equal: what the index has to tell apart. */
const dense: fc.Arbitrary<AssertionInput[]> = fc
  .record({
    dimension: fc.constantFrom('role', 'action', 'resource'),
    patterns: fc.array(
      fc.tuple(
        fc.string({ unit: fc.constantFrom('a', 'b', '*', '*', '?', '.'), minLength: 1, maxLength: 7 }),
        fc.nat(3),
      ),
      { minLength: 30, maxLength: 120 },
    ),
  })
  .map(({ dimension, patterns }) =>
    patterns.map(([text, effect]) => ({
      effect: effect === 0 ? 'DENY' : 'ALLOW',
      role: 'a',
      action: '*',
      resource: '*',
      [dimension]: text,
    })),
  );

/** Policies of a domain `d`: few, or enough of one role for the index. */
export const policies: fc.Arbitrary<PolicyInput[]> = fc
  .oneof(
    fc.array(assertion, { maxLength: 8 }),
    fc.array(assertion, { minLength: 30, maxLength: 80 }),
    dense,
    fc
      .array(assertion, { minLength: 20, maxLength: 60 })
      .map((list) => list.map((entry, at) => ({ ...entry, role: at % 2 === 0 ? 'a' : 'a*' }))),
  )
  .map((list) => {
    const half = Math.ceil(list.length / 2);
    return [
      { name: 'd:policy.one', assertions: list.slice(0, half) },
      { name: 'd:policy.two', assertions: list.slice(half) },
    ];
  });

export const request: fc.Arbitrary<{
  domain: string;
  roles: string[];
  action: string;
  resource: string;
  context?: DecisionContext;
}> = fc
  .record({
    domain: fc.constantFrom('d', 'd', 'd', 'd', 'e', ''),
    roles: fc.oneof(
      fc.array(name, { maxLength: 3 }),
      fc.array(withCapitals, { maxLength: 2 }),
      fc.constantFrom<string[]>(['a'], ['a', 'b'], ['*'], ['a*'], ['']),
    ),
    action: fc.oneof(name, withCapitals, fc.constantFrom('', '*')),
    prefix: fc.constantFrom('', '', 'd:', 'D:', 'e:'),
    resource: fc.oneof(name, withCapitals, fc.constantFrom('', '*', 'ab:a')),
    context: fc.option(
      fc.record(
        {
          instances: fc.constantFrom('a', 'B', 'c', '10.1.2.3', '11.0.0.1', '::ffff:10.2.0.1', '2001:db8::1'),
          enforcementstate: fc.constantFrom('a', 'b', '10.01.2.3', '::1%lo'),
        },
        { requiredKeys: [] },
      ),
      { nil: undefined },
    ),
  })
  .map(({ prefix, resource, context, ...rest }) => ({
    ...rest,
    resource: prefix + resource,
    ...(context !== undefined && { context }),
  }));
