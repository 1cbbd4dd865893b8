import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import type { WireAssertion, WirePolicy } from '@signet/policy-engine/wire';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

/* The text of policies is in order, however many there are and however they come: it is sorted in runs, which are then merged. */

const { canonicalPolicies } = await internals<{
  canonicalPolicies(domain: string, policies: readonly WirePolicy[]): Steps<readonly Uint8Array[]>;
}>('policy-engine/src/bundle/canonical-policies.ts');

function textOf(policies: readonly WirePolicy[]): string {
  return Buffer.concat(runAtOnce(canonicalPolicies('d', policies))).toString();
}

const assertion = (resource: string): WireAssertion => ({ effect: 'ALLOW', role: 'r', action: 'a', resource });
const lineOf = (resource: string) => `${JSON.stringify(['ALLOW', 'r', 'a', resource, false, []])}\n`;
const head = '["policies-1","d"]\n';
/** Numbers in an order that is neither up nor down, some of them twice. */
const numbers = (count: number) =>
  Array.from({ length: count }, (_, at) => String((at * 7919) % (count * 2 - (count >> 2) || 1)));

for (const count of [0, 1, 2, 1023, 1024, 1025, 2048, 2049, 3100, 5000]) {
  test(`${count} assertions and as many policies`, (t) => {
    const resources = numbers(count);
    const one: WirePolicy = { name: 'p', modified: '', assertions: resources.map(assertion) };
    const sorted = resources.map(lineOf).sort().join('');
    t.is(textOf([one]), `${head}["p","0",true,false]\n${sorted}`);
    const many = resources.map((name): WirePolicy => ({ name, modified: '', assertions: [] }));
    const names = resources.map((name) => `${JSON.stringify([name, '0', true, false])}\n`).sort();
    t.is(textOf(many), `${head}${names.join('')}`);
    t.is(textOf([...many].reverse()), textOf(many));
  });
}

test('conditions are in order too, and none are as an empty list', (t) => {
  const set = (...keys: string[]) => ({
    conditionsMap: Object.fromEntries(keys.map((key) => [key, { operator: 'EQUALS', value: key }])),
  });
  const withSets = (...conditionsList: ReturnType<typeof set>[]): WirePolicy => ({
    name: 'p',
    modified: '',
    assertions: [{ ...assertion('x'), conditions: { conditionsList } } as WireAssertion],
  });
  const own = textOf([withSets(set('a', 'b'), set('c'))]);
  t.is(textOf([withSets(set('c'), set('b', 'a'))]), own);
  t.not(textOf([withSets(set('a'), set('b', 'c'))]), own);
  t.is(textOf([withSets()]), textOf([{ name: 'p', modified: '', assertions: [assertion('x')] }]));
});

/* The same text by the rule of decision 019, as short as it can be. */
function byTheRule(policies: readonly WirePolicy[]): string {
  const line = (value: unknown) => `${JSON.stringify(value)}\n`;
  const sorted = (values: unknown[]) =>
    values
      .map((one) => JSON.stringify(one))
      .sort()
      .map((one) => JSON.parse(one));
  const texts = policies.map(({ name, version = '0', active = true, caseSensitive = false, assertions }) => {
    const lines = assertions.map(({ effect, role, action, resource, caseSensitive: own = false, conditions }) => {
      const sets = (conditions?.conditionsList ?? []).map(({ conditionsMap }) =>
        sorted(Object.entries(conditionsMap).map(([key, { operator, value }]) => [key, operator, value])),
      );
      return line([effect, role, action, resource, own, sorted(sets)]);
    });
    return line([name, version, active, caseSensitive]) + lines.sort().join('');
  });
  return head + texts.sort().join('');
}

const word = fc.constantFrom('', 'a', 'a!', 'a b', 'a"', 'a\\', '"', 'é', '😀', '\u0001', '\n', 'b', '],["', 'a","b');
const condition = fc.record({ operator: word, value: word });
const anyAssertion: fc.Arbitrary<WireAssertion> = fc.record(
  {
    effect: fc.constantFrom('ALLOW' as const, 'DENY' as const),
    role: word,
    action: word,
    resource: word,
    caseSensitive: fc.boolean(),
    conditions: fc.record({
      conditionsList: fc.array(fc.record({ conditionsMap: fc.dictionary(word, condition, { maxKeys: 2 }) }), {
        maxLength: 2,
      }),
    }),
  },
  { requiredKeys: ['effect', 'role', 'action', 'resource'] },
);
const anyPolicy: fc.Arbitrary<WirePolicy> = fc.record(
  {
    name: word,
    modified: fc.constant(''),
    version: word,
    active: fc.boolean(),
    caseSensitive: fc.boolean(),
    assertions: fc.array(anyAssertion, { maxLength: 8 }),
  },
  { requiredKeys: ['name', 'modified', 'assertions'] },
);

test('the text is the one of the rule, whatever stands in names', (t) => {
  fc.assert(
    fc.property(fc.array(anyPolicy, { maxLength: 5 }), (policies) => textOf(policies) === byTheRule(policies)),
    { numRuns: 1000 },
  );
  t.pass();
});
