import {
  checkDer,
  DerError,
  DerReader,
  element,
  oid,
  smallInteger,
  tags,
  unsigned,
} from '@signet/policy-engine/internal/der';
import test from 'ava';

/* DER (X.690 §8 and §10), each rule with the octets on both sides of it. */

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const refused = (message: string) => ({ instanceOf: DerError, message });

const tooShort = 'the input ends inside a length';
const tooLong = 'an element is longer than the input';
const notShortest = 'a length is not in its shortest form';
const messages: readonly (readonly [hex: string, fault: string | undefined])[] = [
  ['', 'the input ends where an element should begin'],
  ['04', tooShort],
  ['04 00', undefined],
  ['04 01', tooLong],
  ['04 01 aa', undefined],
  ['04 01 aa bb', 'the message is followed by other bytes'],
  ['1e 00', undefined],
  ['1f 00', 'high tag numbers are not used here'],
  ['3f 00', 'high tag numbers are not used here'],
  ['04 80', 'indefinite lengths are not DER'],
  ['04 81', tooShort],
  ['04 81 7f', notShortest],
  ['04 81 80', tooLong],
  [`04 81 80 ${'aa'.repeat(0x80)}`, undefined],
  [`04 7f ${'aa'.repeat(0x7f)}`, undefined],
  ['04 82 01', tooShort],
  ['04 82 00 ff', notShortest],
  [`04 82 01 00 ${'aa'.repeat(0x100)}`, undefined],
  ['04 83 01 00', tooShort],
  ['04 83 00 ff ff', notShortest],
  ['04 83 01 00 00', tooLong],
  ['04 84 00 00 00 01 aa', 'a length is too large'],
  ['04 84 01 00 00 00', 'a length is too large'],
  ['04 ff', 'a length is too large'],
  ['30 00', undefined],
  ['30 02 04 00', undefined],
  ['30 02 04 01 aa', tooLong],
  ['30 01 04', tooShort],
  // A length of the inner element whose octets lie beyond the outer one.
  ['30 02 04 81 80', tooShort],
  ['30 03 04 82 01 00', tooShort],
  ['30 04 04 00 04 00', undefined],
  ['30 04 30 00 30 00', undefined],
  ['30 06 30 02 04 00 04 00', undefined],
  ['30 03 30 00 04', tooShort],
  ['30 02 04 00 04 00', 'the message is followed by other bytes'],
  ['04 00 04 00', 'the message is followed by other bytes'],
];
for (const [hex, fault] of messages) {
  test(`a message: ${hex.slice(0, 40)}, ${hex.length} digits, ${fault ?? 'taken'}`, (t) => {
    if (fault === undefined) t.notThrows(() => checkDer(bytes(hex)));
    else t.throws(() => checkDer(bytes(hex)), refused(fault));
  });
}

test('sixteen levels of elements, and one more', (t) => {
  const nested = (levels: number) => {
    let message = element(tags.octetString, Buffer.of(1));
    for (let level = 0; level < levels; level += 1) message = element(tags.sequence, message);
    return message;
  };
  t.notThrows(() => checkDer(nested(16)));
  t.throws(() => checkDer(nested(17)), refused('elements are nested too deeply'));
  // An empty list is not a level, and nothing may follow it unseen.
  const around = (inner: Buffer, levels: number) =>
    Array.from({ length: levels }).reduce<Buffer>((message) => element(tags.sequence, message), inner);
  t.notThrows(() => checkDer(around(element(tags.sequence), 16)));
  t.notThrows(() => checkDer(element(tags.sequence, element(tags.sequence), Buffer.of(4, 0))));
  t.throws(
    () => checkDer(Buffer.concat([element(tags.sequence), Buffer.of(4, 0)])),
    refused('the message is followed by other bytes'),
  );
  // Side by side they are not deep.
  t.notThrows(() => checkDer(element(tags.sequence, nested(15), nested(15))));
});

test('a reader takes elements in their order and says what is missing, wrong or too much', (t) => {
  const reader = new DerReader(bytes('02 01 05 30 02 04 00'));
  t.deepEqual([reader.done, reader.next(tags.integer), reader.next(tags.sequence)], [false, true, false]);
  t.throws(() => reader.content(tags.sequence, 'the list'), refused('the list has the wrong type'));
  t.deepEqual(reader.content(tags.integer, 'the number'), bytes('05'));
  t.throws(() => reader.finish('the message'), refused('the message has more in it than it should'));
  const inner = reader.enter(tags.sequence, 'the list');
  t.deepEqual([inner.done, reader.done, reader.next(tags.sequence)], [false, true, false]);
  t.notThrows(() => reader.finish('the message'));
  for (const take of [
    () => reader.content(tags.integer, 'the rest'),
    () => reader.enter(tags.sequence, 'the rest'),
    () => reader.element(tags.integer, 'the rest'),
    () => reader.any('the rest'),
  ]) {
    t.throws(take, refused('the rest is missing'));
  }
  t.deepEqual(inner.any('an octet string'), { tag: 0x04, content: bytes('') });
});

test('a reader sees nothing past the end of its element', (t) => {
  // The outer element ends before the inner one, whose octets follow it.
  const outer = new DerReader(bytes('30 02 04 01 aa')).enter(tags.sequence, 'the list');
  t.throws(() => outer.content(tags.octetString, 'the text'), refused(tooLong));
  const ended = new DerReader(bytes('30 00 04 01 aa')).enter(tags.sequence, 'the list');
  t.false(ended.next(tags.octetString));
  t.throws(() => ended.content(tags.octetString, 'the text'), refused('the text is missing'));
  const cut = new DerReader(bytes('30 01 04 01 aa')).enter(tags.sequence, 'the list');
  t.throws(() => cut.content(tags.octetString, 'the text'), refused(tooShort));
});

const strings: readonly (readonly [hex: string, bits: string | undefined])[] = [
  ['03 00', undefined],
  ['03 01 00', ''],
  ['03 01 01', undefined],
  ['03 02 00 ff', 'ff'],
  ['03 02 07 80', undefined],
];
for (const [hex, bits] of strings) {
  test(`a bit string of whole octets: ${hex}`, (t) => {
    const read = () => new DerReader(bytes(hex)).bits('the signature');
    if (bits === undefined) t.throws(read, refused('the signature is not a string of whole octets'));
    else t.deepEqual(read(), bytes(bits));
  });
}

const numbers: readonly (readonly [hex: string, read: string | { readonly fault: string }])[] = [
  ['02 00', { fault: 'the serial number is empty' }],
  ['02 01 00', '00'],
  ['02 01 01', '01'],
  ['02 01 7f', '7f'],
  ['02 01 80', { fault: 'the serial number is negative' }],
  ['02 01 ff', { fault: 'the serial number is negative' }],
  ['02 02 00 7f', { fault: 'the serial number is not in its shortest form' }],
  ['02 02 00 00', { fault: 'the serial number is not in its shortest form' }],
  ['02 02 00 80', '80'],
  ['02 02 01 00', '0100'],
  ['02 03 00 80 00', '8000'],
];
for (const [hex, read] of numbers) {
  test(`a number that is not negative: ${hex}`, (t) => {
    const unsignedOf = () => new DerReader(bytes(hex)).unsigned('the serial number');
    if (typeof read === 'string') t.deepEqual(unsignedOf(), bytes(read));
    else t.throws(unsignedOf, refused(read.fault));
  });
}

test('lengths are written in their shortest form', (t) => {
  for (const [length, header] of [
    [0, '04 00'],
    [0x7f, '04 7f'],
    [0x80, '04 81 80'],
    [0xff, '04 81 ff'],
    [0x100, '04 82 01 00'],
    [0xffff, '04 82 ff ff'],
    [0x10000, '04 83 01 00 00'],
  ] as const) {
    const written = element(tags.octetString, Buffer.alloc(length, 0xaa));
    t.deepEqual(written, Buffer.concat([bytes(header), Buffer.alloc(length, 0xaa)]));
    t.notThrows(() => checkDer(written));
  }
  t.deepEqual(element(tags.sequence, bytes('04 00'), bytes(''), bytes('05 00')), bytes('30 04 04 00 05 00'));
});

test('numbers are written in their shortest form, with a sign octet where the first bit is set', (t) => {
  for (const [octets, written] of [
    ['', '02 01 00'],
    ['00', '02 01 00'],
    ['00 00', '02 01 00'],
    ['01', '02 01 01'],
    ['00 00 01', '02 01 01'],
    ['7f', '02 01 7f'],
    ['80', '02 02 00 80'],
    ['00 80', '02 02 00 80'],
    ['01 00', '02 02 01 00'],
  ] as const) {
    t.deepEqual(unsigned(bytes(octets)), bytes(written), octets);
  }
  t.deepEqual([0, 127, 128, 65_536].map(smallInteger), [
    bytes('02 01 00'),
    bytes('02 01 7f'),
    bytes('02 02 00 80'),
    bytes('02 03 01 00 00'),
  ]);
});

test('object identifiers are written with seven bits to the octet', (t) => {
  for (const [dotted, written] of [
    ['2.5.29.17', '06 03 55 1d 11'],
    ['1.2.127', '06 02 2a 7f'],
    ['1.2.128', '06 03 2a 81 00'],
    ['1.2.840.113549.1.1.11', '06 09 2a 86 48 86 f7 0d 01 01 0b'],
    ['2.999', '06 02 88 37'],
  ] as const) {
    t.deepEqual(oid(dotted), bytes(written), dotted);
  }
});
