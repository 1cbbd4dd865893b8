import { DerError, DerReader, element, oid, sequence, set } from '@signet/policy-engine/internal/der';
import { readName } from '@signet/server/x509/distinguished-name';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';

/* Names as requests and certificates carry them: which kinds of string are read. */

const named = (tag: number, content: Buffer) =>
  readName(new DerReader(sequence(set(sequence(oids.commonName.der, element(tag, content))))));

const kinds: readonly (readonly [kind: string, tag: number, content: Buffer, value: string | undefined])[] = [
  ['UTF-8', 0x0c, Buffer.from('média'), 'média'],
  ['printable', 0x13, Buffer.from('media'), 'media'],
  ['IA5', 0x16, Buffer.from('media'), 'media'],
  ['UTF-8 that is broken', 0x0c, Buffer.of(0xc3), undefined],
  ['teletex', 0x14, Buffer.from('media'), undefined],
  ['universal', 0x1c, Buffer.from('media'), undefined],
  ['BMP', 0x1e, Buffer.from('media'), undefined],
  ['octets', 0x04, Buffer.from('media'), undefined],
];
for (const [kind, tag, content, value] of kinds) {
  test(`a name in ${kind}`, (t) => {
    if (value === undefined) t.throws(() => named(tag, content), { instanceOf: DerError, message: /^a name / });
    else
      t.deepEqual(
        named(tag, content).map((each) => each.value),
        [value],
      );
  });
}

const attribute = (type: Buffer, tag: number, text: string) => sequence(type, element(tag, Buffer.from(text)));
const read = (...relative: Buffer[]) => readName(new DerReader(sequence(...relative)));

test('an attribute that is not known has no value, of whatever kind it is', (t) => {
  const unknown = set(attribute(oid('2.5.4.5'), 0x1e, 'media'));
  const known = set(attribute(oids.commonName.der, 0x0c, 'media'));
  t.deepEqual(read(unknown, known), [
    { attribute: 'other', value: '', element: unknown },
    { attribute: 'commonName', value: 'media', element: known },
  ]);
  t.deepEqual(read(), []);
});

test('a relative name has one attribute, and an attribute one value', (t) => {
  const one = attribute(oids.commonName.der, 0x0c, 'media');
  t.throws(() => read(set(one, one)), { instanceOf: DerError });
  t.throws(() => read(set()), { instanceOf: DerError });
  const twice = sequence(oids.commonName.der, element(0x0c, Buffer.from('a')), element(0x0c, Buffer.from('b')));
  t.throws(() => read(set(twice)), { instanceOf: DerError });
});
