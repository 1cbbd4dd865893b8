import { matchesPattern } from '@signet/policy-engine/policy';
import { coversPattern } from '@signet/server/management/documents/pattern-covers';
import test from 'ava';
import fc from 'fast-check';

const cases: readonly (readonly [wide: string, narrow: string, covers: boolean])[] = [
  ['*', '', true],
  ['*', 'a*?', true],
  ['a', 'a', true],
  ['a', 'b', false],
  ['a*', 'a', true],
  ['a*', 'ab*c', true],
  ['a*', '*', false],
  ['a*c', 'abc', true],
  ['a*c', 'a*bc', true],
  ['a*c', 'a*', false],
  ['?', 'a', true],
  ['?', '?', true],
  ['?', '*', false],
  ['?*', '*', false],
  ['?*', '*a', false],
  ['?*', 'a*', true],
  ['a', '?', false],
  ['?', '\u{1F3AC}', true],
  ['film.*', 'film.?', true],
];

for (const [wide, narrow, covers] of cases) {
  test(`${wide} ${covers ? 'covers' : 'does not cover'} ${narrow}`, (t) => t.is(coversPattern(wide, narrow), covers));
}

const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 6 });
const fillings = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 3 }), {
  minLength: 6,
  maxLength: 6,
});

test('what covers a pattern matches all that it matches', (t) => {
  fc.assert(
    fc.property(patterns, patterns, fillings, (wide, narrow, texts) => {
      fc.pre(coversPattern(wide, narrow));
      let at = 0;
      const text = narrow.replace(/[*?]/g, (wildcard) => {
        const filling = texts[at++] ?? '';
        return wildcard === '*' ? filling : filling.slice(0, 1) || 'a';
      });
      return matchesPattern(wide, text);
    }),
    { numRuns: 2000 },
  );
  t.pass();
});
