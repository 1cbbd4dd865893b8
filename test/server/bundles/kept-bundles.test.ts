import { parseDomainName } from '@signet/policy-engine/names';
import { gridSpan } from '@signet/server/bundles/issue-grid';
import { keptBundles } from '@signet/server/bundles/kept-bundles';
import type { DomainSnapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';

const week = 7 * 86_400_000;
const name = parseDomainName('catalog');
const domain = { name } as DomainSnapshot;
const { from, until } = gridSpan(100 * week, domain, week);
const key = {};

/** Makes a new number each time. */
function world() {
  let made = 0;
  const bundleOf = keptBundles(week, () => {
    made += 1;
    return made;
  });
  bundleOf(domain, 'rfc7515', { key, epoch: 1, now: from });
  return bundleOf;
}

const moments: readonly (readonly [note: string, domain: DomainSnapshot, now: number, key: object, epoch: number])[] = [
  ['another compiled domain of the same name', { ...domain }, from, key, 1],
  ['the next point of the grid', domain, until, key, 1],
  ['a clock before the last point of the grid', domain, from - 1, key, 1],
  ['another key', domain, from, {}, 1],
  ['another epoch', domain, from, key, 2],
];

test('a bundle is made once for a form, until the grid moves on', (t) => {
  const bundleOf = world();
  t.is(bundleOf(domain, 'rfc7515', { key, epoch: 1, now: until - 1 }), 1);
  t.is(bundleOf(domain, 'p1363', { key, epoch: 1, now: from }), 2);
  t.is(bundleOf(domain, 'rfc7515', { key, epoch: 1, now: from }), 1);
});

for (const [note, other, now, otherKey, epoch] of moments) {
  test(`it is made again for ${note}`, (t) => {
    const bundleOf = world();
    t.is(bundleOf(other, 'rfc7515', { key: otherKey, epoch, now }), 2);
    t.is(bundleOf(other, 'rfc7515', { key: otherKey, epoch, now }), 2);
  });
}
