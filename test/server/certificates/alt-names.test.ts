import { DerError, element, sequence } from '@signet/policy-engine/internal/der';
import { maxAltNames, readAltNames, writeAltNames } from '@signet/server/x509/subject-alt-names';
import test from 'ava';

const [email, dns, uri, ip, directory] = [0x81, 0x82, 0x86, 0x87, 0xa4] as const;
const maxLength = 2048;

const read = (...names: readonly (readonly [tag: number, content: Buffer])[]) =>
  readAltNames(sequence(...names.map(([tag, content]) => element(tag, content))));
const text = (length: number) => Buffer.alloc(length, 'a');
const refused = (message: string) => ({ instanceOf: DerError, message });

test('so many names, and one more', (t) => {
  t.is(maxAltNames, 64);
  const names = (count: number) => Array.from({ length: count }, () => [dns, text(1)] as const);
  t.is(read(...names(1)).length, 1);
  t.is(read(...names(maxAltNames)).length, maxAltNames);
  const tooMany = refused('there are more than 64 alternative names');
  t.throws(() => read(...names(maxAltNames + 1)), tooMany);
  // The last one is not even looked at.
  t.throws(() => read(...names(maxAltNames), [ip, text(3)]), tooMany);
  t.throws(() => read(), refused('the alternative names are an empty list'));
});

test('so long a name, and one octet more or none', (t) => {
  const wrong = refused('an alternative name is empty or too long');
  for (const [kind, tag] of [
    ['dns', dns],
    ['uri', uri],
    ['email', email],
  ] as const) {
    for (const length of [1, maxLength]) t.deepEqual(read([tag, text(length)]), [{ kind, value: 'a'.repeat(length) }]);
    for (const length of [0, maxLength + 1]) t.throws(() => read([tag, text(length)]), wrong, `${kind} ${length}`);
  }
  t.deepEqual(read([directory, text(maxLength)]), [{ kind: 'other', value: '' }]);
  for (const length of [0, maxLength + 1]) t.throws(() => read([directory, text(length)]), wrong);
});

test('an IP address has four or sixteen octets, and no number beside them', (t) => {
  for (const length of [4, 16])
    t.deepEqual(read([ip, Buffer.alloc(length, 0xab)]), [{ kind: 'ip', value: 'ab'.repeat(length) }]);
  for (const length of [1, 3, 5, 15, 17]) {
    t.throws(() => read([ip, Buffer.alloc(length)]), refused('an IP address has four or sixteen octets'), `${length}`);
  }
});

test('the characters of a name, and their neighbours', (t) => {
  for (const tag of [dns, uri, email]) {
    for (const octet of [0x21, 0x7e])
      t.is(read([tag, Buffer.of(0x61, octet)])[0]?.value, `a${String.fromCharCode(octet)}`);
    for (const octet of [0x00, 0x0a, 0x1f, 0x20, 0x7f, 0x80, 0xff]) {
      const wrong = refused('an alternative name holds a character that no name has');
      for (const content of [Buffer.of(octet), Buffer.of(0x61, octet), Buffer.of(octet, 0x61)]) {
        t.throws(() => read([tag, content]), wrong, octet.toString(16));
      }
    }
  }
});

test('what follows the list is refused, and what was written is read', (t) => {
  const names = [
    { kind: 'dns', value: 'a.example.com' },
    { kind: 'uri', value: 'spiffe://signet.test/media/player' },
    { kind: 'email', value: 'media.player@signet.test' },
    { kind: 'ip', value: '7f000001' },
    { kind: 'ip', value: '00'.repeat(15).concat('01') },
  ] as const;
  const written = writeAltNames(names);
  t.deepEqual(readAltNames(written), names);
  t.throws(() => readAltNames(Buffer.concat([written, Buffer.of(0x05, 0x00)])), { instanceOf: DerError });
  t.throws(() => readAltNames(written.subarray(0, -1)), { instanceOf: DerError });
});
