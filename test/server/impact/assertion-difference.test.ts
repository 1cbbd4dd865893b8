import { type Assertion, differencesOf } from '@signet/server/impact/assertion-difference';
import { atomsOf } from '@signet/server/impact/atoms';
import test from 'ava';
import fc from 'fast-check';

const differenceOf = (before: readonly Assertion[], after: readonly Assertion[]) =>
  differencesOf([{ before, after }]).flatMap(({ flips, describe }) => flips.map(describe));

/** All texts over `ab` and one more letter, up to four characters. */
const texts = ['', ...words(4)];

function words(length: number): string[] {
  if (length === 0) return [];
  return ['a', 'b', 'c'].flatMap((letter) => [letter, ...words(length - 1).map((rest) => letter + rest)]);
}

/** The slow and obvious way. */
function matches(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] === '*') return matches(pattern.slice(1), text) || (text !== '' && matches(pattern, text.slice(1)));
  return text !== '' && (pattern[0] === '?' || pattern[0] === text[0]) && matches(pattern.slice(1), text.slice(1));
}

function isAllowed(rules: readonly Assertion[], action: string, resource: string): boolean {
  const hit = rules.filter((rule) => matches(rule.action, action) && matches(rule.resource, resource));
  return hit.some((rule) => rule.effect === 'ALLOW') && !hit.some((rule) => rule.effect === 'DENY');
}

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 4 });
const rule = fc.record({
  effect: fc.constantFrom('ALLOW' as const, 'DENY' as const),
  action: pattern,
  resource: pattern,
});

test('atoms: every text is in exactly one atom, and every example is in its own', (t) => {
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 5 }), (patterns) => {
      const atoms = atomsOf(patterns, { allowEmpty: true });
      const vector = (text: string) => patterns.map((one) => matches(one, text)).join();
      const vectors = new Set(atoms.map((atom) => patterns.map((_, index) => atom.matches.has(index)).join()));
      for (const atom of atoms) {
        if (vector(atom.example) !== patterns.map((_, index) => atom.matches.has(index)).join()) return false;
      }
      return vectors.size === atoms.length && texts.every((text) => vectors.has(vector(text)));
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

test('difference: agrees with trying every request, over random pairs of rule sets', (t) => {
  const small = texts.filter((text) => text.length <= 2);
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), fc.array(rule, { maxLength: 4 }), (before, after) => {
      const flips = differenceOf(before, after);
      const examplesHold = flips.every(({ change, example }) => {
        const [was, is] = [before, after].map((rules) => isAllowed(rules, example.action, example.resource));
        return example.action !== '' && was !== is && is === (change === 'gain');
      });
      const covers = (set: { matching: readonly string[]; except: readonly string[] }, text: string) =>
        set.matching.every((one) => matches(one, text)) && !set.except.some((one) => matches(one, text));
      const allFound = small.every((action) =>
        small.every((resource) => {
          if (action === '') return true;
          const [was, is] = [isAllowed(before, action, resource), isAllowed(after, action, resource)];
          const found = flips.filter((flip) => covers(flip.action, action) && covers(flip.resource, resource));
          return was === is ? found.length === 0 : found.length === 1 && (found[0]?.change === 'gain') === is;
        }),
      );
      return examplesHold && allFound;
    }),
    { numRuns: Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 10_000) },
  );
  t.pass();
});

test('difference: a thousand exact rules against a thousand others', (t) => {
  const rules = (offset: number): Assertion[] =>
    Array.from({ length: 1000 }, (_, index) => ({
      effect: 'ALLOW',
      action: 'read',
      resource: `item-${index + offset}`,
    }));
  const flips = differenceOf(rules(0), rules(10));
  t.is(flips.length, 20);
  t.deepEqual(flips[0], {
    change: 'loss',
    action: { matching: ['read'], except: [] },
    resource: { matching: ['item-0'], except: [] },
    example: { action: 'read', resource: 'item-0' },
  });
});
