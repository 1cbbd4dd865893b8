import { didYouMean } from '@signet/policy-engine/internal/nearest';
import test from 'ava';

const cases: readonly (readonly [name: string, known: readonly string[], meant: string | undefined])[] = [
  ['meida', ['media', 'movies'], 'media'],
  ['redaer', ['reader', 'editor'], 'reader'],
  ['reder', ['reader'], 'reader'],
  ['readers', ['reader'], 'reader'],
  ['reade', ['raede', 'ready', 'reader'], 'raede'],
  ['writer', ['reader'], undefined],
  ['a', ['b'], 'b'],
  ['abcd', ['abxy'], undefined],
  ['abcde', ['abcxy'], 'abcxy'],
  ['abcde', ['abxyz'], undefined],
  ['reader', ['reader'], undefined],
  ['x', [], undefined],
];

for (const [name, known, meant] of cases) {
  test(`${name} among ${known.join(', ')}: ${meant}`, (t) => {
    t.is(didYouMean(name, known), meant === undefined ? '' : `: did you mean \`${meant}\`?`);
  });
}
