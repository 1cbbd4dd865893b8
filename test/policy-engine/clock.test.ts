import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import fc from 'fast-check';

/* Times as they stand in JSON and in documents. */

for (const text of [
  '2027-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2027-04-31T12:00:00.5Z',
  '2027-01-01T24:00:00Z',
  '2027-01-01T23:60:00Z',
  '2026-12-31T23:59:60Z',
  '2027-13-01T00:00:00Z',
  '2027-00-10T00:00:00Z',
  '2027-01-00T00:00:00Z',
  '2027-01-01T00:00:00+00:00',
  '2027-01-01T00:00:00',
  '2027-01-01',
]) {
  test(`${text} is refused, not moved to another time`, (t) => t.is(parseTimestamp(text), undefined));
}

test('every time that is written is read', (t) => {
  const latest = 253_402_300_799_999;
  fc.assert(fc.property(fc.integer({ min: 0, max: latest }), (at) => t.is(parseTimestamp(formatTimestamp(at)), at)));
  t.is(parseTimestamp('2028-02-29T00:00:00Z'), parseTimestamp('2028-02-29T00:00:00.000Z'));
});
