import { addressList, strangerOf } from '@signet/server/budgets/client-addresses';
import test from 'ava';

const cases: readonly (readonly [address: string, stranger: string])[] = [
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', 'unknown'],
  ['not an address', 'unknown'],
];

for (const [address, stranger] of cases) {
  test(`\`${address}\` counts as ${stranger}`, (t) => t.is(strangerOf(address), stranger));
}

test('a list of addresses and networks holds those of its own family, IPv4 also in its IPv6 wrapping', (t) => {
  const listed = addressList(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '::1', '::/0']);
  for (const address of ['10.255.255.255', '::ffff:10.0.0.1', '192.0.2.1', '2001:db8::5', '::1', 'fe80::1%eth0']) {
    t.true(listed(address), address);
  }
  for (const address of ['11.0.0.0', '9.255.255.255', '192.0.2.2', '::ffff:192.0.2.2', '', 'localhost']) {
    t.false(listed(address), address);
  }
  t.false(addressList([])('127.0.0.1'));
});
