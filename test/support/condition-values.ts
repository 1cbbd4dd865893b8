import type { ConditionOperator } from '@signet/policy-engine/policy';

/** Values drawn by random tests for one operator. */
interface DrawnValues {
  /** Values that meet those of the other operators in every way. */
  readonly meeting: readonly string[];
  /** Some that can be told apart in any combination, for pairs of whole domains. */
  readonly inPairs: readonly string[];
  /** Some over the few letters of random policies. */
  readonly overLetters: readonly string[];
}

/** A new operator does not compile before it is drawn. */
export const conditionValues: Readonly<Record<ConditionOperator, DrawnValues>> = {
  EQUALS: {
    meeting: ['10.1.2.3', 'h1', '10.', '2001:db8::1', '::ffff:10.1.2.3', 'other', '*', '203.0.113.7', '203.0.113.6'],
    inPairs: ['h1', 'H1,h2', 'h2', '*', '10.1.2.3'],
    overLetters: ['a', 'b', 'a,b', 'A , c', '*'],
  },
  NOT_EQUALS: {
    meeting: ['10.1.2.4', 'h2', '::', '10.1', 'hother'],
    inPairs: ['h1', 'H2,10.1.2.3'],
    overLetters: ['a', 'B,c'],
  },
  STARTS_WITH: {
    meeting: [
      'h',
      'h1',
      '1',
      '10.',
      '10.0',
      '10.1.',
      '10.1.2.3',
      'db',
      '2001:',
      '2001:db8:',
      '2001:db8:0',
      'o',
      '203.0.113.',
    ],
    inPairs: ['h', 'H1,x', '10.1.'],
    overLetters: ['A', 'b,10.', '::'],
  },
  IN_CIDR: {
    meeting: [
      '10.0.0.0/8',
      '10.0.0.0/16',
      '10.1.0.0/16',
      '10.1.2.3/32',
      '0.0.0.0/0',
      '::/0',
      '2001:db8::/32',
      '2001:db8::1/128',
      '203.0.113.6/31',
    ],
    inPairs: ['10.0.0.0/8', '10.1.0.0/16', '2001:DB8::/32,10.1.2.3/32'],
    overLetters: ['10.0.0.0/8', '10.1.0.0/16 , ::/0', '2001:DB8::/32'],
  },
};

const first = [
  '',
  'h',
  'h1',
  'h12',
  'o',
  'other',
  'x',
  'db',
  'db-1',
  '*',
  '1',
  '10',
  '10.',
  '10.1',
  '10.1.2.3.4',
  '10.01.2.3',
];
const octets = ['1', '2', '3', '4', '10', '128'];
const dotted = octets.flatMap((one) =>
  octets.flatMap((two) => ['2.3', '2.4', '0.0'].map((end) => `${one}.${two}.${end}`)),
);
const others = ['203.0.113.5', '203.0.113.6', '203.0.113.7', '203.0.113.70', '0.0.0.0', '255.255.255.255'];
const groups = [
  '::',
  '::1',
  '1::',
  '10::1',
  'db::',
  'dbd::1',
  '2001::',
  '2001:db8::',
  '2001:db8::1',
  '2001:db8::2',
  '2001:db8:0::1',
];
const spelled = [
  '2001:0db8::1',
  '2001:db8:0:0:0:0:0:1',
  '2001:db9::',
  '2001:db8:1::',
  '2002::',
  'fe80::1',
  'fe80::1%eth0',
  '::10.1.2.3',
];
/** Values that there may be. */
export const universe = [
  ...first,
  ...dotted,
  ...others,
  ...groups,
  ...spelled,
  ...[...dotted, ...others].map((one) => `::ffff:${one}`),
];
