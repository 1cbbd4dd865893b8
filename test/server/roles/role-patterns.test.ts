import { RolePatterns } from '@signet/server/roles/role-patterns';
import test from 'ava';

/* Full names of roles that a list of patterns fits, and the result when comparing takes too much work. */

const cases: [patterns: readonly string[], name: string, fits: boolean][] = [
  [[], 'media:role.reader', false],
  [['media:role.reader'], 'media:role.reader', true],
  [['media:role.reader'], 'media:role.readers', false],
  [['media:role.reader'], 'media:role.reade', false],
  [['media:role.*'], 'media:role.reader', true],
  [['media:role.*'], 'media:role.', true],
  [['media:role.*'], 'media:role', false],
  [['media:role.*'], 'catalog:role.reader', false],
  [['*'], 'media:role.reader', true],
  [['*:role.reader'], 'media:role.reader', true],
  [['*:role.reader'], 'media:role.writer', false],
  [['media:role.reader?'], 'media:role.readers', true],
  [['media:role.reader?'], 'media:role.reader', false],
  [['?edia:role.reader'], 'media:role.reader', true],
  [['media:*.read*'], 'media:role.reader', true],
  [['media:*.read*'], 'media:role.writer', false],
  [['media:*.read*'], 'media:*.reader', true],
  [['a?*'], 'abc', true],
  [['a?*'], 'a', false],
  [['x', 'y*', '*z'], 'az', true],
  [['x', 'y*', '*z'], 'ya', true],
  [['x', 'y*', '*z'], 'a', false],
];
for (const [patterns, name, fits] of cases) {
  test(`[${patterns.join(', ')}] ${fits ? 'fits' : 'does not fit'} ${name}`, (t) => {
    t.is(new RolePatterns(patterns).fits(name, !fits), fits);
  });
}

test('when comparing takes too much work, only what needs no comparison is certain', (t) => {
  const wild = Array.from({ length: 3000 }, (_, index) => `*${'a'.repeat(40)}${index}?b*`);
  for (const beyond of [true, false]) {
    const patterns = new RolePatterns(['plain', ...wild]);
    t.is(patterns.fits('a'.repeat(1000), beyond), beyond);
    t.is(patterns.fits('other', beyond), beyond, 'nothing is compared any more');
    t.true(patterns.fits('plain', beyond));
  }
});
