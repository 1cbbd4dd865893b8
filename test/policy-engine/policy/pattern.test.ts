import {
  compileDomain,
  matchesFolded,
  matchesPattern,
  maxPatternLength,
  maxResourceLength,
  maxWildcards,
  patternProblem,
  type Work,
} from '@signet/policy-engine/policy';
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
  ['a question mark for the first code point of two units', 'a?z', 'a\u{10000}z', true],
  ['a question mark for the last code point', 'a?z', 'a\u{10ffff}z', true],
  ['a question mark for the last code point of one unit', 'a?z', 'a\uffffz', true],
  ['two question marks not for one code point', 'a??z', 'a\u{1f600}z', false],
  ['a question mark for half a code point alone', 'a?z', 'a\udc00z', true],
  ['a question mark not for a letter and half a code point', 'a?', 'ab\udc00', false],
  ['a question mark not for half a code point and a letter', 'a?', 'a\ud83db', false],
  ['a star and a question mark need one', '*?', '', false],
  ['a star looks further', 'a*b*c', 'abxbxc', true],
  ['the last literal must end the text', '*.jpg', 'a.jpg.png', false],
  ['characters of regular expressions are literal', 'a.b+c(d[e$f^g|h\\', 'a.b+c(d[e$f^g|h\\', true],
  ['a dot is not a wildcard', 'a.b', 'axb', false],
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

/** Literals that nearly fit at every place, so that the way for those is taken. */
const stubborn = fc
  .tuple(
    fc.array(fc.constantFrom('*', 'a'.repeat(40), `${'a'.repeat(30)}b`, '?', '\u{1f600}', 'b'), { maxLength: 8 }),
    fc.array(fc.constantFrom('a'.repeat(90), 'b', '\u{1f600}', `${'a'.repeat(29)}b`), { maxLength: 8 }),
  )
  .map(([pattern, text]) => [pattern.join(''), text.join('')] as const);

test('property: the matcher agrees with the table where literals nearly fit everywhere', (t) => {
  fc.assert(
    fc.property(stubborn, ([pattern, text]) => matchesPattern(pattern, text) === referenceMatches(pattern, text)),
    { numRuns: 1500 },
  );
  t.pass();
});

/** The work of one comparison. */
function workOf(pattern: string, text: string): number {
  const spent: number[] = [];
  matchesPattern(pattern, text, { spend: (units: number) => void spent.push(units) } as unknown as Work);
  return spent.reduce((sum, units) => sum + units, 0);
}

test('one comparison costs little more than the text and the pattern are long, whatever they are', (t) => {
  const text = 'a'.repeat(maxResourceLength);
  const patterns = [
    `${'*a'.repeat(12)}*b`,
    `*${'a'.repeat(400)}*${'a'.repeat(390)}b?*`,
    `*${'a'.repeat(maxPatternLength - 2)}b`,
    `*${'a?'.repeat(30)}${'a'.repeat(900)}b*`,
  ];
  for (const pattern of patterns) {
    const words = Math.ceil(pattern.length / 32) + 1;
    t.true(workOf(pattern, text) <= (5 + 2 * words) * (text.length + pattern.length), pattern.slice(0, 20));
  }
});

test('one comparison spends what it costs to make many different characters ready', (t) => {
  const alphabet = Array.from({ length: 1400 }, (_, at) => (at % 28 === 27 ? '?' : String.fromCharCode(0x4e00 + at)));
  const pattern = `*${'a'.repeat(28)}?${'a'.repeat(27)}b*${alphabet.join('')}`;
  t.true(workOf(pattern, 'a'.repeat(250)) > (alphabet.length * pattern.length) / 32);
});

/** Also halves of surrogate pairs, which a request may hold; of patterns they are refused. */
const broken = fc
  .array(fc.constantFrom('a'.repeat(90), 'b', '\u{1f600}'.repeat(50), '\u{1f601}', '\ud83d', '\ude00'), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));
const whole = fc
  .array(
    fc.constantFrom(
      '*',
      '?',
      'b',
      'a'.repeat(40),
      `*${'a'.repeat(30)}?b`,
      `*${'\u{1f600}'.repeat(20)}\u{1f601}`,
      '\u{1f600}',
    ),
    { maxLength: 10 },
  )
  .map((parts) => parts.join(''));

test('property: halves of surrogate pairs in a text are characters of their own, whichever way is taken', (t) => {
  fc.assert(
    fc.property(whole, broken, (pattern, text) => matchesPattern(pattern, text) === referenceMatches(pattern, text)),
    { numRuns: 1500 },
  );
  t.pass();
});

test('half a surrogate pair is not part of an assertion', (t) => {
  for (const half of ['\ud83d', '\ude00', '*\ud83d?']) {
    t.is(patternProblem(half), 'half a surrogate pair is not a character');
    const assertions = [{ role: 'reader', action: 'read', resource: half }];
    t.throws(() => compileDomain('catalog', [{ name: 'p', assertions }]), { code: 'bundle-malformed' });
  }
  t.is(patternProblem('\u{1f600}'), undefined);
});

for (const [name, atLimit, past] of [
  ['characters', `*${'a'.repeat(maxPatternLength - 1)}`, `*${'a'.repeat(maxPatternLength)}`],
  ['wildcards', '*a'.repeat(maxWildcards), '?'.repeat(maxWildcards + 1)],
] as const) {
  test(`a pattern has a bound of its ${name}, also in a bundle`, (t) => {
    const limit = name === 'characters' ? maxPatternLength : maxWildcards;
    const problem = `a pattern must have at most ${limit} ${name}`;
    t.is(patternProblem(atLimit), undefined);
    t.is(patternProblem(past), problem);
    t.is(patternProblem(past.replaceAll(/[*?]/g, 'b')), undefined, 'no pattern');
    const policy = (field: 'role' | 'action' | 'resource', text: string) => [
      { name: 'p', assertions: [{ role: 'r', action: 'read', resource: 'movie', [field]: text }] },
    ];
    for (const field of ['role', 'action', 'resource'] as const) {
      t.notThrows(() => compileDomain('catalog', policy(field, atLimit)));
      t.throws(() => compileDomain('catalog', policy(field, past)), {
        message: `policy \`p\` has an assertion whose ${field} is not valid: ${problem}`,
      });
    }
  });
}
