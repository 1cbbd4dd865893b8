import { compileConditions, conditionOperators } from '@signet/policy-engine/policy';
import { PatternsTooComplexError } from '@signet/server/impact/atoms';
import {
  assertionsInContext,
  type ConditionalAssertion,
  contextClasses,
  type ValueSet,
} from '@signet/server/impact/contexts';
import test from 'ava';
import fc from 'fast-check';
import { conditionHolds } from '#support/condition-oracle';
import { conditionValues, universe } from '#support/condition-values';

/* The classes of hosts that an impact speaks of: each host is in one of them, as it is described, and is like its example. */

function isIn(set: ValueSet | undefined, value: string | undefined): boolean {
  if (set === undefined) return true;
  if (set === null || value === undefined) return set === null && value === undefined;
  const folded = value.toLowerCase();
  if ('is' in set) return set.is === folded;
  const { isNot, matching = [], except = [], unreadableBy = [] } = set;
  return (
    !isNot.includes(folded) &&
    matching.every((term) => conditionHolds(term.operator, term.value, folded) === true) &&
    except.every((term) => conditionHolds(term.operator, term.value, folded) === false) &&
    unreadableBy.every(
      (operator) => conditionHolds(operator, conditionValues[operator].meeting[0] ?? '', folded) === undefined,
    )
  );
}

const rule = fc
  .record({
    effect: fc.constantFrom('ALLOW' as const, 'DENY' as const),
    condition: fc
      .constantFrom(...conditionOperators)
      .chain((operator) => fc.constantFrom(...conditionValues[operator].meeting).map((value) => ({ operator, value }))),
  })
  .map(
    ({ effect, condition }): ConditionalAssertion => ({
      effect,
      action: 'a',
      resource: 'r',
      conditions: compileConditions({ conditionsList: [{ conditionsMap: { instances: condition } }] }),
    }),
  );

function classesOf(rules: readonly ConditionalAssertion[]) {
  try {
    return contextClasses(rules);
  } catch (error) {
    if (error instanceof PatternsTooComplexError) return undefined;
    throw error;
  }
}

test('each value is in one class, and the rules that count for it are those of its example', (t) => {
  let told = 0;
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), (rules) => {
      const classes = classesOf(rules);
      if (classes === undefined) return;
      told += 1;
      for (const value of [undefined, ...universe]) {
        const own = classes.filter(({ set }) => isIn(set.instances, value));
        const wanted = assertionsInContext(rules, value === undefined ? {} : { instances: value });
        const found = own.flatMap(({ example }) => assertionsInContext(rules, example));
        if (own.length !== 1 || wanted.length !== found.length || wanted.some((one, at) => one !== found[at])) {
          throw new Error(`${value} is in ${JSON.stringify(own)}`);
        }
      }
    }),
    { numRuns: 300, includeErrorInReport: true },
  );
  t.true(told > 150, `${told}`);
});
