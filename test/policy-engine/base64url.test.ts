import { deepStrictEqual } from 'node:assert/strict';
import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../limits/row.ts';

const { encodeBase64url, decodeBase64url, decodeBase64urlInSteps } = await internals<{
  encodeBase64url(bytes: Uint8Array): string;
  decodeBase64url(text: string): Uint8Array | undefined;
  decodeBase64urlInSteps(text: Uint8Array): Steps<Uint8Array | undefined>;
}>('policy-engine/src/base64url.ts');
const { byHand } = await internals<{
  byHand: {
    encode(bytes: Uint8Array): string;
    decode(text: string, bytes: Uint8Array): boolean;
    decodeAscii(text: Uint8Array, bytes: Uint8Array): boolean;
  };
}>('policy-engine/src/base64url-by-hand.ts');

function decodeByHand(text: string): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  return byHand.decode(text, bytes) ? bytes : undefined;
}

/** The bytes of a text, decoded natively and by hand; both must be the same. */
function decodeAscii(text: Uint8Array): Uint8Array | undefined {
  const found = runAtOnce(decodeBase64urlInSteps(text));
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  const other = text.length % 4 !== 1 && byHand.decodeAscii(text, bytes) ? bytes : undefined;
  deepStrictEqual(found, other);
  return found;
}

const anyText = fc
  .tuple(
    fc.uint8Array({ maxLength: 40 }),
    fc.nat(60),
    fc.nat(2),
    fc.constantFrom('', '', '=', '+', '/', ' ', '\n', 'é', 'ł', '-B', '\ud83d'),
  )
  .map(([bytes, at, gone, put]) => {
    const text = Buffer.from(bytes).toString('base64url');
    return text.slice(0, at) + put + text.slice(at + gone);
  });

test('by hand and natively, bytes have one text and any other is refused', (t) => {
  let taken = 0;
  fc.assert(
    fc.property(anyText, (text) => {
      const found = decodeBase64url(text);
      deepStrictEqual(decodeAscii(new TextEncoder().encode(text)), found);
      if (found !== undefined) {
        taken += 1;
        if (encodeBase64url(found) !== text || byHand.encode(found) !== text) return false;
      }
      return (
        Buffer.from(found ?? '').equals(Buffer.from(decodeByHand(text) ?? '')) &&
        (found === undefined) === (decodeByHand(text) === undefined)
      );
    }),
    { numRuns: 3000 },
  );
  t.true(taken > 300, `${taken}`);
});

for (const [what, text] of [
  ['padding', 'QQ=='],
  ['standard alphabet', '+/+/'],
  ['line end', 'QUFB\n'],
  ['bits that would be thrown away', 'QR'],
  ['one character too many', 'QUFBQ'],
  ['a character of another alphabet', 'QUFł'],
  ['a byte order mark', 'QUFB\ufeffQUFB'],
  ['a byte order mark before it', '\ufeffQUFB'],
] as const) {
  test(`refused: ${what}`, (t) => {
    t.is(decodeBase64url(text), undefined);
    t.is(decodeByHand(text), undefined);
    t.is(decodeAscii(Buffer.from(text)), undefined);
  });
}

test('the bytes of a long text are whole, and a fault in any slice of it is found', (t) => {
  const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7) & 255);
  const text = encodeBase64url(bytes);
  t.is(text, byHand.encode(bytes));
  t.true(Buffer.from(decodeBase64url(text) ?? '').equals(bytes));
  for (const at of [0, 65_535, 65_536, 131_072, text.length - 1]) {
    for (const put of ['*', '+', '/', '=', '\n', 'é']) {
      const faulty = `${text.slice(0, at)}${put}${text.slice(at + 1)}`;
      t.is(decodeBase64url(faulty), undefined);
      t.is(decodeAscii(Buffer.from(faulty, 'latin1')), undefined);
    }
  }
  t.deepEqual(decodeAscii(Buffer.from(text)), bytes);
});
