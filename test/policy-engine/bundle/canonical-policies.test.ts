import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import type { WireAssertion, WirePolicy } from '@signet/policy-engine/wire';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* The text of policies is in order, however many there are and however they come: it is sorted in runs, which are then merged. */

const { canonicalPolicies } = await internals<{
  canonicalPolicies(domain: string, policies: readonly WirePolicy[]): Steps<Uint8Array[]>;
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
