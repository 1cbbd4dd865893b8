import { PolicyEngine } from '@signet/policy-engine';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

interface Work {
  readonly spent: number;
  spend(units: number): void;
}
interface Index {
  add(prefix: string, group: string): void;
  search(text: string, work: Work, visit: (group: string) => void): void;
}
const { PrefixIndex } = await internals<{ PrefixIndex: new () => Index }>('policy-engine/src/policy/prefix-index.ts');
const { emptyLiteral, hashed } = await internals<{
  readonly emptyLiteral: number;
  hashed(hash: number, text: string, from: number, end: number): number;
}>('policy-engine/src/policy/literal-hash.ts');
const { Work } = await internals<{ Work: new () => Work }>('policy-engine/src/policy/work.ts');

function found(index: Index, text: string): { prefixes: string[]; spent: number } {
  const prefixes: string[] = [];
  const work = new Work();
  index.search(text, work, (prefix) => prefixes.push(prefix));
  return { prefixes: prefixes.toSorted(), spent: work.spent };
}

function indexOf(prefixes: Iterable<string>): Index {
  const index = new PrefixIndex();
  for (const prefix of prefixes) index.add(prefix, prefix);
  return index;
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'ab', '.', '\u{1F600}'), maxLength: 40 });

test('property: the table finds what a look at every prefix finds', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(letters, { maxLength: 60 }), fc.array(letters, { maxLength: 20 }), (prefixes, texts) => {
      const index = indexOf(prefixes);
      for (const text of [...texts, ...prefixes, ...prefixes.map((prefix) => `${prefix}b`)]) {
        t.deepEqual(found(index, text).prefixes, prefixes.filter((prefix) => text.startsWith(prefix)).toSorted());
      }
    }),
    { numRuns: 300 },
  );
});

test('ten thousand prefixes are told apart, for about as much work as ten', (t) => {
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `item.${index + 10_000}.`);
  const few = found(indexOf(numbered(10)), 'item.10007.part');
  const many = found(indexOf(numbered(10_000)), 'item.10007.part');
  t.deepEqual(few.prefixes, ['item.10007.']);
  t.deepEqual(many.prefixes, ['item.10007.']);
  t.true(many.spent <= few.spent + 10, `${few.spent} and ${many.spent} units`);
});

test('each character and each place that is looked at is paid for', (t) => {
  t.is(found(indexOf([]), 'abcd').spent, 0);
  t.is(found(indexOf(['x']), 'abcd').spent, 2);
  t.is(found(indexOf(['x', 'yyy']), 'abcd').spent, 5);
  t.is(found(indexOf(['x', 'yyyyy']), 'abcd').spent, 2, 'a prefix that is longer than the text is not looked for');
});

/** Two texts of one length that begin alike and have the same hash. */
function twoOfOneHash(begin: string): readonly [one: string, other: string] {
  const begun = hashed(emptyLiteral, begin, 0, begin.length);
  const known = new Map<number, string>();
  for (let number = 36 ** 4; ; number += 1) {
    const end = number.toString(36);
    const hash = hashed(begun, end, 0, end.length);
    const other = known.get(hash);
    if (other !== undefined) return [begin + other, begin + end];
    known.set(hash, end);
  }
}

test('a prefix is paid for by its length: it is compared as a whole, where another has its hash too', (t) => {
  const [one, other] = twoOfOneHash('x'.repeat(160));
  t.not(one, other);
  t.is(one.length, other.length);
  const text = `${one}.part`;
  const alone = found(indexOf([one]), text);
  const both = found(indexOf([one, other]), text);
  t.deepEqual([alone.prefixes, both.prefixes], [[one], [one]]);
  t.is(alone.spent, 1 + one.length + 1 + one.length);
  t.is(both.spent, alone.spent + 1 + other.length);
});

test('property: what was found once is found again, by the same decision, whatever was found before', (t) => {
  const counts = fc.integer({ min: 13, max: 80 });
  const order = fc.array(fc.nat(), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(counts, order, (count, asked) => {
      const assertions = Array.from({ length: count }, (_, index) => ({
        role: 'reader',
        action: 'read',
        resource: `item.${index}.*`,
      }));
      const engine = PolicyEngine.fromDomains({ catalog: [{ name: 'items', assertions }] });
      const decide = (index: number) =>
        engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource: `item.${index}.part` });
      const known = new Map<number, unknown>();
      for (const number of asked) {
        const index = number % count;
        const decision = decide(index);
        t.is(decision.assertion?.resource, `item.${index}.*`);
        t.is(known.get(index) ?? decision, decision);
        known.set(index, decision);
      }
      for (let index = 0; index < count; index += 1) t.is(decide(index).status, 'ALLOW');
      t.is(decide(count).status, 'DENY_NO_MATCH');
    }),
    { numRuns: 100 },
  );
});
