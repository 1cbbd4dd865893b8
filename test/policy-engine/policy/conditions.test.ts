import {
  type ConditionOperator,
  compileConditions,
  conditionOperators,
  conditionsCount,
  foldContext,
  operatorRules,
} from '@signet/policy-engine/policy';
import type { WireConditions } from '@signet/policy-engine/wire';
import test from 'ava';

/* Conditions of a bundle: constant ones, unknown ones, and the values of each operator. */

const known = { conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } };
const strange = { conditionsMap: { instances: { operator: 'SOUNDS_LIKE', value: 'h1' } } };
const empty = { conditionsMap: {} };

const forms: [note: string, conditionsList: unknown[] | undefined, kind: 'none' | 'known' | 'unknown'][] = [
  ['no list', undefined, 'none'],
  ['an empty list', [], 'none'],
  ['a condition', [known], 'known'],
  ['one of an operator of a later version', [strange], 'unknown'],
  ['a set that always holds', [empty], 'none'],
  ['a set that always holds, before one that cannot be evaluated', [empty, strange], 'unknown'],
  ['a set that always holds, beside one that may', [known, empty], 'none'],
  ['a set that cannot be evaluated, before one that always holds', [strange, empty], 'unknown'],
  ['a set that is none', [7], 'unknown'],
  [
    'no value of an operator that takes any',
    [{ conditionsMap: { instances: { operator: 'EQUALS', value: '' } } }],
    'known',
  ],
  ['null for a set', [null], 'unknown'],
  ['a list for a map', [{ conditionsMap: [7] }], 'unknown'],
];
for (const [note, conditionsList, kind] of forms) {
  test(`conditions: ${note}`, (t) => {
    t.is(compileConditions((conditionsList && { conditionsList }) as WireConditions).kind, kind);
  });
}

const wire = (operator: string, value: string): WireConditions => ({
  conditionsList: [{ conditionsMap: { instances: { operator, value } } }],
});

/** For an ALLOW and a DENY: `holds`, `fails`, or `silent` when the value says nothing to the operator. */
function outcome(operator: string, value: string, instances: unknown): string {
  const compiled = compileConditions(wire(operator, value));
  const context = foldContext({ instances } as never);
  const [allow, deny] = [conditionsCount(compiled, 'ALLOW', context), conditionsCount(compiled, 'DENY', context)];
  if (allow === deny) return allow ? 'holds' : 'fails';
  return deny ? 'silent' : 'widens access';
}

const long = `2001:db8:${'0:'.repeat(5)}1`;
const mapped = '::ffff:10.1.2.3';
const outcomes: readonly (readonly [operator: string, value: string, given: unknown, outcome: string])[] = [
  ['EQUALS', 'H1,h2', 'h1', 'holds'],
  ['equals', 'h1', 'H1', 'holds'],
  ['EQUALS', 'h1', 'h11', 'fails'],
  ['EQUALS', '*', 'h1', 'holds'],
  ['EQUALS', '*', undefined, 'silent'],
  ['NOT_EQUALS', 'h1,H2', 'h3', 'holds'],
  ['NOT_EQUALS', 'h1,H2', 'h2', 'fails'],
  ['not_equals', 'h1', 'H1', 'fails'],
  ['NOT_EQUALS', 'h1', '', 'holds'],
  ['NOT_EQUALS', 'h1', undefined, 'silent'],
  ['NOT_EQUALS', 'h1', 7, 'silent'],
  ['NOT_EQUALS', 'h1', ['h2'], 'silent'],
  ['STARTS_WITH', 'stage', 'Stage1', 'holds'],
  ['STARTS_WITH', 'stage', 'stage', 'holds'],
  ['STARTS_WITH', 'STAGE,foyer', 'foyer.b', 'holds'],
  ['STARTS_WITH', 'stage', 'stag', 'fails'],
  ['STARTS_WITH', 'stage', 'backstage', 'fails'],
  ['STARTS_WITH', 'stage?', 'stage1', 'fails'],
  ['STARTS_WITH', 'stage', undefined, 'silent'],
  ['STARTS_WITH', 'stage', { startsWith: () => true }, 'silent'],
  ['IN_CIDR', '10.0.0.0/8', '10.255.255.255', 'holds'],
  ['IN_CIDR', '10.0.0.0/8', '11.0.0.0', 'fails'],
  ['IN_CIDR', '128.0.0.0/1', '255.255.255.255', 'holds'],
  ['IN_CIDR', '128.0.0.0/1', '127.255.255.255', 'fails'],
  ['IN_CIDR', '10.1.2.3/32', '10.1.2.3', 'holds'],
  ['IN_CIDR', '10.1.2.3/32', '10.1.2.2', 'fails'],
  ['IN_CIDR', '0.0.0.0/0', '255.0.255.0', 'holds'],
  ['IN_CIDR', '0.0.0.0/0', '::1', 'fails'],
  ['IN_CIDR', '0.0.0.0/0', mapped, 'holds'],
  ['IN_CIDR', '10.0.0.0/8', mapped, 'holds'],
  ['IN_CIDR', '10.0.0.0/8', '0:0:0:0:0:FFFF:A01:203', 'holds'],
  ['IN_CIDR', '::/0', mapped, 'fails'],
  ['IN_CIDR', '::/0', '10.1.2.3', 'fails'],
  ['IN_CIDR', '::/0', '::ffff:1:10.1.2.3', 'holds'],
  ['IN_CIDR', '2001:DB8::/32', long, 'holds'],
  ['IN_CIDR', '2001:db8::/33', '2001:DB8:8000::', 'fails'],
  ['IN_CIDR', '2001:db8::/33', '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff', 'holds'],
  ['IN_CIDR', '2001:db8::1/128', long, 'holds'],
  ['IN_CIDR', '2001:db8::1/128', '2001:db8::1:1', 'fails'],
  ['IN_CIDR', '10.0.0.0/8,2001:db8::/32', '2001:db8::', 'holds'],
  ...[
    '',
    'h1',
    '10.1.2',
    '10.1.2.3.4',
    '10.1.2.256',
    '10.01.2.3',
    '10.1.2.3 ',
    ' 10.1.2.3',
    '10.1.2.3/32',
    '10.1.2.3:80',
    '0x0a.1.2.3',
    '167837955',
    '１０.1.2.3',
    'fe80::1%eth0',
    '[::1]',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    '12345::',
    'g::',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '::10.1.2',
    '::10.1.2.03',
    '10.1.2.3::',
    '::10.1.2.3:1',
    `${'0'.repeat(40)}::10.1.2.3`,
    undefined,
    null,
    7,
    { toString: () => '10.1.2.3' },
  ].map((given) => ['IN_CIDR', '0.0.0.0/0,::/0', given, 'silent'] as const),
];
for (const [operator, value, given, expected] of outcomes) {
  test(`${operator} ${value} of ${JSON.stringify(given)}: ${expected}`, (t) => {
    t.is(outcome(operator, value, given), expected);
  });
}

const network = 'must be a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32';
const asIpv4 = 'must name IPv4 addresses as IPv4, such as 192.0.2.0/24';
const hostBits = 'has address bits that are set beyond its prefix length';
const wrong: readonly (readonly [operator: ConditionOperator, value: string, problem: string])[] = [
  ['NOT_EQUALS', '*', 'must not be `*`: the condition would never hold'],
  ['STARTS_WITH', '', 'must not be empty: every value starts with it'],
  ['STARTS_WITH', 'stage*', 'must not contain `*`: any suffix already matches'],
  ['IN_CIDR', '', network],
  ['IN_CIDR', '*', network],
  ['IN_CIDR', '10.0.0.0', network],
  ['IN_CIDR', '/8', network],
  ['IN_CIDR', '10.0.0.0/', network],
  ['IN_CIDR', '10.0.0.0/08', network],
  ['IN_CIDR', '10.0.0.0/+8', network],
  ['IN_CIDR', '10.0.0.0/8.0', network],
  ['IN_CIDR', '10.0.0.0/-1', network],
  ['IN_CIDR', '10.0.0.0/8/8', network],
  ['IN_CIDR', '10.0.0.0/255.0.0.0', network],
  ['IN_CIDR', '10.0.0/8', network],
  ['IN_CIDR', '010.0.0.0/8', network],
  ['IN_CIDR', 'fe80::%eth0/64', network],
  ['IN_CIDR', '10.0.0.0/33', 'must have a prefix length of at most 32'],
  ['IN_CIDR', '::/129', 'must have a prefix length of at most 128'],
  ['IN_CIDR', '10.0.0.1/8', hostBits],
  ['IN_CIDR', '10.0.0.1/31', hostBits],
  ['IN_CIDR', '10.0.0.0/0', hostBits],
  ['IN_CIDR', '2001:db8::1/32', hostBits],
  ['IN_CIDR', '2001:db8::1/127', hostBits],
  ['IN_CIDR', '::ffff:10.0.0.0/104', asIpv4],
  ['IN_CIDR', '::ffff:0:0/96', asIpv4],
];
for (const [operator, value, problem] of wrong) {
  test(`${operator} does not take ${JSON.stringify(value)}, and a bundle with it is not evaluated`, (t) => {
    t.is(operatorRules[operator].problem(value), problem);
    t.is(compileConditions(wire(operator, value)).kind, 'unknown');
    t.is(outcome(operator, `${value},${value}`, '10.0.0.0'), 'silent');
  });
}

test('every operator has its words, and says something else of what does not hold', (t) => {
  for (const operator of conditionOperators) {
    const { holds, fails } = operatorRules[operator].words;
    t.true(holds.length > 0 && fails.length > 0 && holds !== fails, operator);
  }
});
