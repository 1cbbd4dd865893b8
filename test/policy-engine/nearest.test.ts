import { didYouMean } from '@signet/policy-engine/internal/nearest';
import test from 'ava';

const cases: readonly (readonly [name: string, known: readonly string[], meant: string | undefined])[] = [
  ['meida', ['media', 'movies'], 'media'],
  ['redear', ['reader', 'editor'], 'reader'],
  ['reder', ['reader'], 'reader'],
  ['readers', ['reader'], 'reader'],
  ['reade', ['raede', 'ready', 'reader'], 'raede'],
  ['writer', ['reader'], undefined],
  ['a', ['b'], undefined],
  ['abc', ['abd'], 'abd'],
  ['abcd', ['abxy'], undefined],
  ['abcde', ['abcdx'], 'abcdx'],
  ['abcde', ['abcxy'], undefined],
  ['abcdef', ['abcdxy'], 'abcdxy'],
  ['abcdef', ['abcxyz'], undefined],
  ['reader', ['reader'], undefined],
  ['x', [], undefined],
];

for (const [name, known, meant] of cases) {
  test(`${name} among ${known.join(', ')}: ${meant}`, (t) => {
    t.is(didYouMean(name, known), meant === undefined ? '' : `: did you mean \`${meant}\`?`);
  });
}
