import { JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

/* What is read by its length alone is what a strict reader takes, whatever stands in it. */

const { parsePlainItems, endOfObjects } = await internals<{
  parsePlainItems(bytes: Uint8Array, levels: number): readonly unknown[] | undefined;
  endOfObjects(bytes: Uint8Array, from: number, length: number): number | undefined;
}>('policy-engine/src/json/plain-items.ts');

const encoder = new TextEncoder();

function plain(text: string, levels = 32): readonly unknown[] | undefined {
  return parsePlainItems(encoder.encode(text), levels);
}

function strict(text: string): unknown {
  try {
    return parseStrictJson(`[${text}]`);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

const taken: readonly string[] = [
  '{"role":"d:role.r","action":"read","resource":"d:movie","effect":"ALLOW","id":90000}',
  '{"id":1000},{"id":2}',
  '{"id":9007199254740991,"caseSensitive":false,"active":true,"x":null}',
  '{"":0},{"é😀":"ü"},{}',
  '{"__proto__":1}',
  '{"conditions":{"conditionsList":[{"id":1,"conditionsMap":{"k":{"operator":"EQUALS","value":"v"}}}]}}',
  '[],[[]],{"a":[]}',
  '{"a":-0}',
  '{"a":0.5}',
];
for (const text of taken) {
  test(`taken by its length: ${text}`, (t) => t.deepEqual<unknown, unknown>(plain(text), strict(text)));
}

const left: [note: string, text: string][] = [
  ['the shortest member twice', '{"":0,"":0}'],
  ['a member twice', '{"effect":"DENY","role":"r","effect":"ALLOW"}'],
  ['a member twice, with numbers that an exponent makes shorter', '{"a":9e9,"b":9e9,"c":9e9,"":0,"":1}'],
  ['a member twice, beside a number that is rounded up', '{"a":999999999999999999,"":0,"":1}'],
  ['a name twice of which one is written with an escape', '{"a":1,"\\u0061":2}'],
  ['an infinite number', '1e999'],
  ['an infinite number as a member', '{"a":1e999}'],
  ['a negative infinite number', '{"a":-1e999}'],
  ['half a surrogate pair', '{"a":"\\ud800"}'],
  ['half an item', '{"a":"b'],
  ['two lists', '{}],[{}'],
];
for (const [note, text] of left) {
  test(`left to the scanner: ${note}`, (t) => {
    t.is(plain(text), undefined);
    t.is(strict(text), undefined);
  });
}

test('left to the scanner: what is not UTF-8, a mark of byte order, and too many levels', (t) => {
  t.is(parsePlainItems(Uint8Array.of(0x22, 0xff, 0x22), 32), undefined);
  t.is(plain('\ufeff{}'), undefined);
  t.deepEqual(plain('{"a":[[]]}', 4), [{ a: [[]] }]);
  t.is(plain('{"a":[[]]}', 3), undefined);
});

test('much white space is left to the scanner', (t) => {
  t.deepEqual(plain('{ "a" : 1 }'), [{ a: 1 }]);
  t.is(plain('{ "a" :  1 , "b" : 2 }'), undefined);
});

const texts = [
  '"a"',
  '""',
  '"é"',
  '1000',
  '-0',
  '0',
  '1e3',
  '9e9',
  '12e3',
  '1E999',
  '0.1',
  '9999999999999999999999',
  'false',
];
const scalar = fc.constantFrom(...texts);
const names = fc.constantFrom('""', '"a"', '"b"', '"__proto__"', '"0"', '"\\u0061"');
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    fc
      .array(fc.tuple(names, tie('value')), { maxLength: 5 })
      .map((members) => `{${members.map((member) => member.join(':')).join()}}`),
  ),
}));

test('what is taken by its length is taken by a strict reader, and means the same', (t) => {
  let count = 0;
  const items = fc.array(value, { minLength: 1, maxLength: 4 }).map((all) => all.join());
  fc.assert(
    fc.property(items, (text) => {
      const found = plain(text);
      if (found === undefined) return;
      count += 1;
      t.deepEqual<unknown, unknown>(found, strict(text));
    }),
    { numRuns: 5000 },
  );
  t.true(count > 500);
});

test('a run of objects ends before one that begins with the same member', (t) => {
  const end = (text: string, length: number) => endOfObjects(encoder.encode(text), 0, length);
  const text = '{"a":1},{"a":2},{"b":3},{"a":4}';
  t.is(end(text, 100), 23);
  t.is(end(text, 22), 7);
  t.is(end(text, 6), undefined);
  t.is(end('{"a":1}', 100), undefined);
  t.is(end('{"abcdef":1},{"abcdef":2}', 8), undefined, 'a name longer than a piece');
  t.is(end('{}', 100), undefined);
});
