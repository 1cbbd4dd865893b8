import {
  SshReader,
  SshWireError,
  writeMpint,
  writePacked,
  writeString,
  writeUint8,
  writeUint32,
  writeUint64,
} from '@signet/server/ssh/wire';
import test from 'ava';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

for (const { note, bytes, expect } of [
  { note: 'uint8', bytes: writeUint8(7), expect: '07' },
  { note: 'uint32', bytes: writeUint32(0x01020304), expect: '01020304' },
  { note: 'uint64', bytes: writeUint64((1n << 64n) - 1n), expect: 'ffffffffffffffff' },
  { note: 'text', bytes: writeString('é'), expect: '00000002 c3a9' },
  { note: 'empty string', bytes: writeString(''), expect: '00000000' },
  { note: 'mpint zero', bytes: writeMpint(hex('00')), expect: '00000000' },
  { note: 'mpint of RFC 4251', bytes: writeMpint(hex('09a378f9b2e332a7')), expect: '00000008 09a378f9b2e332a7' },
  { note: 'mpint with the top bit', bytes: writeMpint(hex('0080')), expect: '00000002 0080' },
  { note: 'packed', bytes: writePacked([writeString('a'), writeUint8(1)]), expect: '00000006 00000001 61 01' },
]) {
  test(`writes: ${note}`, (t) => t.is(bytes.toString('hex'), expect.replaceAll(' ', '')));
}

test('reads what was written', (t) => {
  const reader = new SshReader(
    Buffer.concat([writeUint8(1), writeUint32(2), writeUint64(3n), writeString('four'), writeMpint(hex('ff'))]),
  );
  t.deepEqual(
    [reader.uint8('a'), reader.uint32('b'), reader.uint64('c'), reader.text('d'), reader.mpint('e').toString('hex')],
    [1, 2, 3n, 'four', 'ff'],
  );
  t.true(reader.done);
  t.notThrows(() => reader.finish('all'));
});

for (const { note, bytes, read } of [
  { note: 'no byte left', bytes: '', read: (r: SshReader) => r.uint8('x') },
  { note: 'half a uint32', bytes: '0000', read: (r: SshReader) => r.uint32('x') },
  { note: 'half a uint64', bytes: '00000000', read: (r: SshReader) => r.uint64('x') },
  { note: 'a string longer than the input', bytes: '00000005 61', read: (r: SshReader) => r.string('x') },
  { note: 'a string of 4 GiB', bytes: 'ffffffff 61', read: (r: SshReader) => r.string('x') },
  { note: 'text that is not UTF-8', bytes: '00000001 ff', read: (r: SshReader) => r.text('x') },
  { note: 'text with a line feed', bytes: '00000001 0a', read: (r: SshReader) => r.text('x') },
  { note: 'text with a NUL', bytes: '00000002 6100', read: (r: SshReader) => r.text('x') },
  { note: 'mpint zero', bytes: '00000000', read: (r: SshReader) => r.mpint('x') },
  { note: 'mpint below zero', bytes: '00000001 80', read: (r: SshReader) => r.mpint('x') },
  { note: 'mpint with a needless zero', bytes: '00000002 0001', read: (r: SshReader) => r.mpint('x') },
  { note: 'bytes after the end', bytes: '00', read: (r: SshReader) => r.finish('x') },
]) {
  test(`refuses: ${note}`, (t) => {
    t.throws(() => read(new SshReader(hex(bytes))), { instanceOf: SshWireError });
  });
}
