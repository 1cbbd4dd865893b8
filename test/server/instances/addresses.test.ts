import { addressToCall, parseAddressPolicy } from '@signet/server/instances/attestation/addresses';
import test from 'ava';

test('which addresses a list allows', (t) => {
  const policy = parseAddressPolicy(['*.prov.example.com', 'one.example.com', '10.0.0.0/8', '192.0.2.1', 'fd00::/8']);
  for (const [host, listed] of [
    ['one.example.com', true],
    ['a.prov.example.com', true],
    ['a.b.prov.example.com', true],
    ['prov.example.com', false],
    ['evilprov.example.com', false],
    ['one.example.com.evil.com', false],
  ] as const) {
    t.is(policy.allowsHost(host), listed, host);
  }
  for (const [address, byName, alone] of [
    ['10.1.2.3', true, true],
    ['192.0.2.1', true, true],
    ['192.0.2.2', true, false],
    ['fd00::1', true, true],
    ['127.0.0.1', false, false],
    ['::1', false, false],
    ['::ffff:127.0.0.1', false, false],
    ['::ffff:7f00:1', false, false],
    ['169.254.169.254', false, false],
    ['::ffff:10.1.2.3', true, true],
    ['fe80::1', false, false],
    ['0.0.0.0', false, false],
    ['not an address', false, false],
  ] as const) {
    t.deepEqual([policy.allowsAddress(address, true), policy.allowsAddress(address, false)], [byName, alone], address);
  }
  const wrong = ['http://x', '10.0.0/8', '*', '*.*.x', 'a b'];
  const wrongNetworks = ['10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/1e1', '10.0.0.0/0x8', '10.0.0.0/8/8', 'x/8'];
  for (const entry of [...wrong, ...wrongNetworks]) {
    t.throws(() => parseAddressPolicy([entry]), { message: /is not a host name, address or network$/ }, entry);
  }
  t.true(parseAddressPolicy(['10.0.0.1/32']).allowsAddress('10.0.0.1', false));
  t.true(parseAddressPolicy(['fd00::1/128']).allowsAddress('fd00::1', false));
});

const everything = parseAddressPolicy(['0.0.0.0/0', '::/0']);
const byName = parseAddressPolicy(['*.example.com']);
const ranges = parseAddressPolicy(['64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', '2001:db8::/32']);
const withTargets = parseAddressPolicy(['64:ff9b::/96', '127.0.0.1', '169.254.1.1']);

test('where a cloud hands out credentials is called for nobody, in no notation', (t) => {
  for (const address of [
    ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
    ...['fd00:ec2::254', 'fd00:0ec2:0:0::0254', 'FD00:EC2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe'],
    ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::ffff:6464:64c8', '0:0:0:0:0:ffff:192.0.0.192'],
    ...['64:ff9b::a9fe:a9fe', '64:ff9b::169.254.169.254', '64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1::a9fe:a9fe'],
    ...['64:ff9b:1:a9:fe:a9fe::', '64:ff9b:1:0:a9:fea9:fe00:0'],
    ...['2002:a9fe:a9fe::1', '2002:a83f:8110::', '2001:0:a9fe:a9fe::1', '2001:0:1:1::5601:5601'],
    ...['::169.254.169.254', '::ffff:0:a9fe:a9fe', '2001:db8::5efe:169.254.169.254', '2001:db8::200:5efe:a9fe:a9fe'],
  ]) {
    for (const policy of [everything, byName, ranges]) {
      t.deepEqual([policy.allowsAddress(address, true), policy.allowsAddress(address, false)], [false, false], address);
    }
  }
});

test('this host is called in no notation, unless it is listed by its own number', (t) => {
  for (const address of [
    ...['64:ff9b::7f00:1', '64:ff9b::127.0.0.1', '2002:7f00:1::', '2002:7f00:0001::7f00:1', '64:ff9b:1:7f00:0:100::'],
    ...['2001:0:7f00:1::', '2001:0:1:1::80ff:fffe', '64:ff9b::', '2002::', '64:ff9b:1::7f00:1'],
    ...['2001:db8::5efe:127.0.0.1', '2002:e000:1::', '64:ff9b::a9fe:1'],
  ]) {
    for (const policy of [byName, ranges]) t.false(policy.allowsAddress(address, true), address);
  }
  for (const address of [
    '::1',
    '::',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '127.0.0.1',
    '0.0.0.0',
    '0.1.2.3',
    'fec0::1',
  ]) {
    t.false(byName.allowsAddress(address, true), address);
  }
  t.deepEqual(
    ['64:ff9b::7f00:1', '127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:2', '127.0.0.2', '64:ff9b::a9fe:101'].map(
      (address) => withTargets.allowsAddress(address, false),
    ),
    [true, true, true, false, false, true],
  );
  for (const scoped of ['fe80::1%eth0', 'fd00::1%1']) t.false(everything.allowsAddress(scoped, true), scoped);
});

test('a translated address of another host counts where its network is listed, and only there', (t) => {
  for (const address of [
    '64:ff9b::5db8:d822',
    '64:ff9b:1::5db8:d822',
    '2002:5db8:d822::1',
    '2001:0:5db8:d822::a247:27dd',
  ]) {
    t.deepEqual([ranges.allowsAddress(address, false), byName.allowsAddress(address, true)], [true, false], address);
  }
  t.true(byName.allowsAddress('2606:2800:21f::1', true));
  t.true(byName.allowsAddress('fd00:ec2::255', true));
});

const named: [found: readonly string[], called: string | undefined][] = [
  [[], undefined],
  [['10.0.0.1'], '10.0.0.1'],
  [['10.0.0.2', '10.0.0.1'], '10.0.0.2'],
  [['127.0.0.1'], undefined],
  [['10.0.0.1', '127.0.0.1'], undefined],
  [['127.0.0.1', '10.0.0.1'], undefined],
];
for (const [found, called] of named) {
  test(`of a name with the addresses [${found.join(', ')}], ${called ?? 'none'} is called`, (t) => {
    const policy = parseAddressPolicy(['10.0.0.0/8']);
    t.is(
      addressToCall(found, (address) => policy.allowsAddress(address, false)),
      called,
    );
  });
}
