import { readProxyHeader } from '@signet/server/http/proxy-protocol';
import test from 'ava';
import { proxyHeader } from '#support/proxy-header';

const incomplete = { kind: 'incomplete' } as const;
const malformed = (reason: string) => ({ kind: 'malformed', reason }) as const;

test('the address of the client is read over IPv4 and IPv6, extensions are skipped, and what follows is left', (t) => {
  const v4 = proxyHeader('192.0.2.7');
  t.deepEqual(readProxyHeader(v4), { kind: 'complete', length: 28, address: '192.0.2.7' });
  t.deepEqual(readProxyHeader(Buffer.concat([v4, Buffer.from('hello')])), {
    kind: 'complete',
    length: 28,
    address: '192.0.2.7',
  });
  const v6 = proxyHeader('2001:db8:0:0:0:0:0:9', { extensions: Buffer.from('0400020102', 'hex') });
  t.deepEqual(readProxyHeader(v6), { kind: 'complete', length: 57, address: '2001:db8:0:0:0:0:0:9' });
  const mapped = proxyHeader('0:0:0:0:0:ffff:c000:0207');
  t.deepEqual(readProxyHeader(mapped), { kind: 'complete', length: 52, address: '::ffff:192.0.2.7' });
});

test('a balancer that speaks for itself (LOCAL), or does not know the family, names no client', (t) => {
  t.deepEqual(readProxyHeader(proxyHeader('192.0.2.7', { command: 0x20 })), { kind: 'complete', length: 28 });
  const bare = proxyHeader('', { command: 0x20, family: 0, addresses: Buffer.alloc(0) });
  t.deepEqual(readProxyHeader(bare), { kind: 'complete', length: 16 });
  t.deepEqual(readProxyHeader(proxyHeader('', { family: 0, addresses: Buffer.alloc(0) })), {
    kind: 'complete',
    length: 16,
  });
  const odd = proxyHeader('', { command: 0x20, family: 0x77, addresses: Buffer.alloc(3) });
  t.deepEqual(readProxyHeader(odd), { kind: 'complete', length: 19 });
});

test('a header that is cut after any byte is incomplete', (t) => {
  for (const header of [proxyHeader('192.0.2.7'), proxyHeader('2001:db8:0:0:0:0:0:9')]) {
    for (let length = 0; length < header.length; length += 1) {
      t.deepEqual(readProxyHeader(header.subarray(0, length)), incomplete, String(length));
    }
  }
});

test('a wrong byte of the signature is refused as soon as it is there', (t) => {
  const header = proxyHeader('192.0.2.7');
  for (let at = 0; at < 12; at += 1) {
    const changed = Buffer.from(header);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.deepEqual(readProxyHeader(changed.subarray(0, at)), incomplete, String(at));
    t.deepEqual(readProxyHeader(changed.subarray(0, at + 1)), malformed('no signature'), String(at));
    t.deepEqual(readProxyHeader(changed), malformed('no signature'), String(at));
  }
});

test('another version, command or family is refused, and so is what begins as TLS, HTTP or version 1', (t) => {
  for (const command of [0x00, 0x10, 0x11, 0x22, 0x2f, 0x31, 0xff]) {
    const header = proxyHeader('192.0.2.7', { command });
    t.deepEqual(readProxyHeader(header), malformed('another version or command'), String(command));
    t.deepEqual(readProxyHeader(header.subarray(0, 13)), malformed('another version or command'), String(command));
  }
  for (const family of [0x01, 0x10, 0x12, 0x20, 0x22, 0x31, 0x32, 0xff]) {
    const header = proxyHeader('192.0.2.7', { family });
    t.deepEqual(readProxyHeader(header), malformed('another family'), String(family));
    t.deepEqual(readProxyHeader(header.subarray(0, 14)), malformed('another family'), String(family));
  }
  for (const text of [
    'PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n',
    'GET / HTTP/1.1\r\n',
    '\x16\x03\x01\x02\x00',
    '\r\n\r\n\r\n',
  ]) {
    t.deepEqual(readProxyHeader(Buffer.from(text, 'latin1')), malformed('no signature'), text);
  }
});

test('a length that holds the addresses exactly is taken, one byte less is not', (t) => {
  for (const [address, length] of [
    ['192.0.2.7', 12],
    ['2001:db8:0:0:0:0:0:9', 36],
  ] as const) {
    t.is(readProxyHeader(proxyHeader(address, { length })).kind, 'complete');
    t.deepEqual(readProxyHeader(proxyHeader(address, { length: length - 1 })), malformed('too short'));
    t.deepEqual(readProxyHeader(proxyHeader(address, { length: 0 })), malformed('too short'));
  }
});

test('a header of 4096 bytes beyond its fixed part is taken, a longer one is refused before it is there', (t) => {
  const exact = proxyHeader('192.0.2.7', { extensions: Buffer.alloc(4096 - 12) });
  t.deepEqual(readProxyHeader(exact), { kind: 'complete', length: 16 + 4096, address: '192.0.2.7' });
  t.deepEqual(readProxyHeader(exact.subarray(0, 16 + 4095)), incomplete);
  t.deepEqual(readProxyHeader(proxyHeader('192.0.2.7', { length: 4097 }).subarray(0, 16)), malformed('too long'));
  t.deepEqual(readProxyHeader(proxyHeader('192.0.2.7', { length: 65_535 })), malformed('too long'));
  t.deepEqual(readProxyHeader(proxyHeader('192.0.2.7', { command: 0x20, length: 65_535 })), malformed('too long'));
});
