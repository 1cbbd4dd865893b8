import { matchesFolded, matchesPattern } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { referenceMatches } from '../reference.ts';

const cases: [note: string, pattern: string, text: string, matches: boolean][] = [
  ['equal texts', 'movie', 'movie', true],
  ['another text', 'movie', 'movies', false],
  ['the case counts', 'movie', 'Movie', false],
  ['a star for everything', '*', 'anything:at/all', true],
  ['a star for nothing', 'movie*', 'movie', true],
  ['a star across dots, colons and slashes', 'a*z', 'a.b:c/z', true],
  ['a star across line ends', 'a*z', 'a\n\r\u2028z', true],
  ['a question mark for one', 'mov?e', 'movie', true],
  ['a question mark not for none', 'movie?', 'movie', false],
  ['a question mark for one code point of two units', 'a?z', 'a\u{1f600}z', true],
  ['two question marks not for one code point', 'a??z', 'a\u{1f600}z', false],
  ['a question mark for half a code point alone', 'a?z', 'a\udc00z', true],
  ['a question mark not for a letter and half a code point', 'a?', 'ab\udc00', false],
  ['a question mark not for half a code point and a letter', 'a?', 'a\ud83db', false],
  ['a star and a question mark need one', '*?', '', false],
  ['a star looks further', 'a*b*c', 'abxbxc', true],
  ['the last literal must end the text', '*.jpg', 'a.jpg.png', false],
  ['characters of regular expressions are literal', 'a.b+c(d[e$f^g|h\\', 'a.b+c(d[e$f^g|h\\', true],
  ['a dot is no wildcard', 'a.b', 'axb', false],
  ['an empty pattern for an empty text', '', '', true],
  ['an empty pattern for nothing else', '', 'a', false],
  ['composed and decomposed letters differ', 'caf\u00e9', 'cafe\u0301', false],
];
for (const [note, pattern, text, matches] of cases) {
  test(`pattern: ${note}`, (t) => t.is(matchesPattern(pattern, text), matches));
}

test('folding is A to Z only', (t) => {
  t.true(matchesFolded('READ*', 'Reader'));
  t.false(matchesFolded('\u0130x', 'ix'));
  t.false(matchesFolded('stra\u00dfe', 'STRASSE'));
  t.false(matchesFolded('k', '\u212a'));
});

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\u{1f600}'), maxLength: 12 });
const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '\u{1f600}'), maxLength: 10 });

test('property: the matcher agrees with a table over all prefixes', (t) => {
  fc.assert(
    fc.property(
      patterns,
      letters,
      (pattern, text) => matchesPattern(pattern, text) === referenceMatches(pattern, text),
    ),
    { numRuns: 5000 },
  );
  t.pass();
});

test('twelve stars over 4,000 characters take no time', (t) => {
  const pattern = `${'*a'.repeat(12)}*b`;
  const start = performance.now();
  t.false(matchesPattern(pattern, 'a'.repeat(4000)));
  t.true(performance.now() - start < 100);
});
