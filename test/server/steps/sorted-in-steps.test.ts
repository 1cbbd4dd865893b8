import { sortedInSteps } from '@signet/server/steps/sorted-in-steps';
import { runAtOnce, sliceLength } from '@signet/server/steps/steps';
import test from 'ava';
import { randomFrom } from '#support/random';

for (const count of [0, 1, sliceLength - 1, sliceLength, sliceLength + 1, 5 * sliceLength + 7]) {
  test(`${count} texts are sorted as by \`sort\`, in short steps`, (t) => {
    const pick = randomFrom(count);
    const texts = Array.from({ length: count }, () => `${['user.', 'média.', '*'][pick(3)]}${pick(count)}`);
    t.deepEqual(runAtOnce(sortedInSteps(texts)), [...texts].sort());
    t.true([...sortedInSteps(texts)].length >= Math.floor(count / sliceLength));
  });
}
