import { certificateLifetime, type LifetimeLimits } from '@signet/server/x509/certificate-profile';
import test from 'ava';

const now = 1_767_225_600;
const usual: LifetimeLimits = {
  defaultSeconds: 600,
  maxSeconds: [],
  issuerNotBefore: 0,
  issuerNotAfter: now + 1e6,
};

const lives: readonly (readonly [note: string, limits: Partial<LifetimeLimits>, seconds: number])[] = [
  ['the default', {}, 600],
  ['0 is as if absent', { requestedSeconds: 0 }, 600],
  ['what is asked for', { requestedSeconds: 1 }, 1],
  ['more than the default', { requestedSeconds: 601 }, 601],
  ['less than no time', { requestedSeconds: -5 }, 600],
  ['a bound below', { maxSeconds: [599] }, 599],
  ['a bound as long', { maxSeconds: [600] }, 600],
  ['a bound above', { maxSeconds: [601] }, 600],
  ['the least of several bounds', { requestedSeconds: 5000, maxSeconds: [900, undefined, 300, 400] }, 300],
  ['bounds that do not count', { maxSeconds: [undefined, 0, -1] }, 600],
  ['a bound of a second', { maxSeconds: [1] }, 1],
  ['the end of the issuer', { issuerNotAfter: now + 10 }, 10],
];
for (const [note, limits, seconds] of lives) {
  test(`a life: ${note}`, (t) => {
    t.deepEqual(certificateLifetime({ ...usual, ...limits }, now), { notBefore: now - 3600, notAfter: now + seconds });
  });
}

test('a life begins an hour before, yet not before the issuer', (t) => {
  const begins = (issuerNotBefore: number) => certificateLifetime({ ...usual, issuerNotBefore }, now).notBefore;
  t.deepEqual([now - 3601, now - 3600, now - 3599].map(begins), [now - 3600, now - 3600, now - 3599]);
});
