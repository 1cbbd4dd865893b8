import { DerError, DerReader } from '@signet/server/x509/der-reader';
import { element, sequence, set } from '@signet/server/x509/der-writer';
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
