import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

const { parsePart } = await internals<{ parsePart: (bytes: Uint8Array) => object | undefined }>(
  'policy-engine/src/token/parse-part.ts',
);
const { parseStrictJson } = await internals<{ parseStrictJson: (text: string) => unknown }>(
  'policy-engine/src/json/strict-json.ts',
);

/* A part of a token is read as strict JSON, whether or not it is written as `JSON.stringify` writes it. */

/** Result of strict JSON for it. */
function strictly(text: string): object | undefined {
  try {
    const value = parseStrictJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function parse(text: string): object | undefined {
  return parsePart(new TextEncoder().encode(text));
}

const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

const texts = [
  '{}',
  '{"iss":"https://localhost:4443/v1","aud":"catalog","exp":1800000000,"scp":["reader"]}',
  '{"a":1,"a":1}',
  '{"a":1,"a":2}',
  '{"a":{"b":1,"b":1}}',
  '{"a":1,"\\u0061":2}',
  '{"a":"\\ud800"}',
  '{"a":"\\n"}',
  '{"a":"é\u2028"}',
  '{"a":1e999}',
  '{"a":1e2}',
  '{"a":-0}',
  '{"2":1,"1":2}',
  '{"__proto__":1}',
  '{"toJSON":"a"}',
  ' {"a": 1 }',
  '{"a":1}x',
  '{"a":01}',
  '{"a":"\u0000"}',
  '\ufeff{}',
  '',
  'null',
  '[]',
  '"a"',
  `{"a":"${'['.repeat(40)}"}`,
  nested(32),
  nested(33),
  nested(8000),
];

for (const [index, text] of texts.entries()) {
  test(`as strict JSON, text ${index}: ${text.slice(0, 60)}${text.length > 60 ? ` (${text.length})` : ''}`, (t) => {
    t.deepEqual(parse(text), strictly(text));
  });
}

test('what is not UTF-8 is not JSON', (t) => {
  t.is(parsePart(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)), undefined);
});

test('whatever JSON.stringify writes is read as strict JSON reads it', (t) => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      t.deepEqual(parse(text), strictly(text));
    }),
  );
});
