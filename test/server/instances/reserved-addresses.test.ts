import { addressOctets } from '@signet/server/base/ip-address';
import { reservedAddresses } from '@signet/server/instances/reserved-addresses';
import test from 'ava';

const reserved = reservedAddresses({
  configured: ['10.9.0.0/16', '2001:db8:9::/48', '192.0.2.7'],
  own: () => ['10.1.1.1', '2001:db8::1', 'fe80::1%eth0'],
});

const cases: readonly (readonly [address: string, fault: string | undefined])[] = [
  ['127.0.0.1', 'is a loopback address, which no certificate holds'],
  ['127.255.255.255', 'is a loopback address, which no certificate holds'],
  ['128.0.0.0', undefined],
  ['::1', 'is a loopback address, which no certificate holds'],
  ['::ffff:127.0.0.1', 'is a loopback address, which no certificate holds'],
  ['0.0.0.0', 'is an unspecified address, which no certificate holds'],
  ['0.255.255.255', 'is an unspecified address, which no certificate holds'],
  ['1.0.0.0', undefined],
  ['::', 'is an unspecified address, which no certificate holds'],
  ['169.254.169.254', 'is a link-local address, which no certificate holds'],
  ['169.255.0.0', undefined],
  ['fe80::1', 'is a link-local address, which no certificate holds'],
  ['fec0::1', undefined],
  ['224.0.0.1', 'is a multicast address, which no certificate holds'],
  ['223.255.255.255', undefined],
  ['ff02::1', 'is a multicast address, which no certificate holds'],
  ['255.255.255.255', 'is a reserved address, which no certificate holds'],
  ['10.1.1.1', 'is an address of the token server'],
  ['2001:db8::1', 'is an address of the token server'],
  ['10.1.1.2', undefined],
  ['10.9.255.255', 'is listed in `instances.reservedAddresses`'],
  ['10.10.0.0', undefined],
  ['192.0.2.7', 'is listed in `instances.reservedAddresses`'],
  ['192.0.2.8', undefined],
  ['2001:db8:9:ffff::', 'is listed in `instances.reservedAddresses`'],
  ['2001:db8:a::', undefined],
];
for (const [address, fault] of cases) {
  test(`${address}: ${fault ?? 'free'}`, (t) => t.is(reserved.faultOf(addressOctets(address) ?? ''), fault));
}

const octets: readonly (readonly [address: string, octets: string | undefined])[] = [
  ['192.0.2.7', 'c0000207'],
  ['::ffff:192.0.2.7', 'c0000207'],
  ['::', '0'.repeat(32)],
  ['::1', `${'0'.repeat(31)}1`],
  ['1::', `0001${'0'.repeat(28)}`],
  ['2001:DB8::1', '20010db8000000000000000000000001'],
  ['2001:db8:1:2:3:4:5:6', '20010db8000100020003000400050006'],
  ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
  ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
  ['fe80::1%eth0', 'fe800000000000000000000000000001'],
  ['localhost', undefined],
  ['', undefined],
];
for (const [address, expected] of octets) {
  test(`the octets of ${JSON.stringify(address)}`, (t) => t.is(addressOctets(address), expected));
}
