import { isDeepStrictEqual } from 'node:util';
import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import { JsonLimitError, type JsonLimits, JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import test from 'ava';
import fc from 'fast-check';
import { hostileTexts, mebibyte } from '#support/hostile-json';
import { internals } from '../../limits/row.ts';
import { Refused, readReference } from './reference-json.ts';

const { encodeStrictly, parseInSteps } = await internals<{
  encodeStrictly(text: string): Uint8Array;
  parseInSteps(bytes: Uint8Array, options?: { pieceLength?: number; bytesOf?: string }): Steps<unknown>;
}>('policy-engine/src/json/strict-json.ts');

function inPieces(text: string, pieceLength: number): unknown {
  return runAtOnce(parseInSteps(encodeStrictly(text), { pieceLength }));
}

const refused = Symbol('refused');

/** The value, or that there is none; any other error is a fault. */
function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof Refused) return refused;
    throw error;
  }
}

/** Distinct text of values that `deepEqual` may treat as equal: `-0`, and members that are not own ones. */
function told(value: unknown): string {
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : JSON.stringify(value ?? 'none');
  if (Array.isArray(value)) return `[${value.map(told).join()}]`;
  return `{${Object.keys(value).map((name) => `${JSON.stringify(name)}:${told(Reflect.get(value, name))}`)}}`;
}

const names = ['a', 'b', '', '__proto__', 'constructor', 'toString', '0', '10', '2', '\\u0061', '\\u005f_proto__', 'é'];
const strings = ['', 'x', '\\n\\"\\\\\\/', '\\u00e9', '\\ud83d\\ude00', '😀', '{"a":[1,', ',]}', 'long'.repeat(30)];
const numbers = ['0', '-0', '1E5', '1e-5', '12345678901234567890', '0.1', '1e308', '-1.5e+3', '9007199254740993'];
const blank = fc.constantFrom('', '', '', ' ', '\n', ' \t\r\n ');
const around = (arbitrary: fc.Arbitrary<string>) =>
  fc.tuple(blank, arbitrary, blank).map(([before, text, after]) => before + text + after);
const quoted = (texts: string[]) => fc.constantFrom(...texts).map((text) => `"${text}"`);

/** Texts that are JSON, but for a member that may stand there twice. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: around(
    fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      quoted(strings),
      fc.constantFrom('true', 'false', 'null', ...numbers),
      fc.array(tie('json'), { maxLength: 5 }).map((items) => `[${items.length === 0 ? ' ' : items.join()}]`),
      fc
        .array(fc.tuple(around(quoted(names)), tie('json')), { maxLength: 4 })
        .map((members) => `{${members.map(([name, value]) => `${name}:${value}`).join()}}`),
    ),
  ),
}));

const fragments = ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '\\ud83d', '\\udE00', 'd8', '-', '+', '.', 'e', '0'];
const others = [
  '01',
  '1e400',
  '9'.repeat(310),
  'nul',
  '\u0001',
  '\ufeff',
  '\u00a0',
  '"a":',
  '"a"',
  '//',
  ' ',
  '{"a":1',
];
const mutated = fc
  .tuple(
    json,
    fc.array(fc.tuple(fc.nat(200), fc.nat(3), fc.constantFrom('', ...fragments, ...others)), { maxLength: 3 }),
  )
  .map(([text, changes]) =>
    changes.reduce((changed, [at, gone, put]) => {
      const from = at % (changed.length + 1);
      return changed.slice(0, from) + put + changed.slice(from + gone);
    }, text),
  );
const pieces = fc.array(fc.constantFrom(...fragments, ...others, '1', 'true', 'null'), { maxLength: 12 });
const anyText = fc.oneof(
  json,
  mutated,
  pieces.map((parts) => parts.join('')),
);
const limits: fc.Arbitrary<JsonLimits> = fc.record(
  {
    items: fc.integer({ min: 1, max: 4 }),
    names: fc.integer({ min: 1, max: 4 }),
    values: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: [] },
);

test('a text means what the grammar says, or is refused', (t) => {
  let understood = 0;
  fc.assert(
    fc.property(anyText, limits, fc.boolean(), (text, some, isLimited) => {
      const held = isLimited ? some : {};
      const wanted = outcome(() => readReference(text, held));
      const found = outcome(() => parseStrictJson(text, held));
      if (wanted === refused || found === refused) return wanted === found;
      understood += 1;
      return told(wanted) === told(found);
    }),
    { numRuns: 5000 },
  );
  t.true(understood > 500, `${understood}`);
});

test('a text means the same in pieces, wherever they are cut', (t) => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, length) => {
      const wanted = outcome(() => readReference(text));
      const found = outcome(() => inPieces(text, length));
      return wanted === refused || found === refused ? wanted === found : told(wanted) === told(found);
    }),
    { numRuns: 5000 },
  );
  t.pass();
});

test('refusals are the same in pieces, to the character', (t) => {
  const message = (read: () => unknown) => {
    try {
      return typeof read();
    } catch (error) {
      return (error as Error).message;
    }
  };
  fc.assert(
    fc.property(mutated, fc.integer({ min: 1, max: 40 }), (text, length) => {
      return message(() => parseStrictJson(text)) === message(() => inPieces(text, length));
    }),
    { numRuns: 1000 },
  );
  t.pass();
});

for (const levels of [31, 32, 33]) {
  test(`${levels} levels, cut at every character`, (t) => {
    const lists = `${'[0,'.repeat(levels - 1)}[1,"\\ud83d\\ude00"]${',2]'.repeat(levels - 1)}`;
    const objects = `${'{"a":1,"b":'.repeat(levels - 1)}{}${',"c":[]}'.repeat(levels - 1).replace(/\[\]/, '"x"')}`;
    for (const text of [lists, levels < 32 ? objects : objects.replaceAll('[]', '0')]) {
      for (let length = 1; length <= text.length + 1; length += 1) {
        if (levels > 32) t.throws(() => inPieces(text, length), { message: /^more levels than 32 at character/ });
        else t.is(told(inPieces(text, length)), told(JSON.parse(text)));
      }
    }
  });
}

test('a string longer than a piece is whole, with the escapes at its cuts', (t) => {
  for (const part of ['\\ud83d\\ude00', '😀', '\\n', 'plain', '\\u00e9é']) {
    const text = `{"x":["${part.repeat(7)}",{"y":"${part.repeat(5)}"},1],"${part.repeat(4)}":"${part.repeat(9)}"}`;
    for (let length = 1; length <= text.length; length += 1) t.deepEqual(inPieces(text, length), JSON.parse(text));
  }
});

test('a long string of the outermost object comes as its bytes when they are asked for', (t) => {
  const read = (text: string) => runAtOnce(parseInSteps(encodeStrictly(text), { pieceLength: 8, bytesOf: 'x' }));
  const long = 'aé😀b'.repeat(9);
  const bytes = encodeStrictly(long);
  t.deepEqual(read(`{"a":1,"x":"${long}","y":"${long}"}`), { a: 1, x: bytes, y: long });
  t.deepEqual(read(`{"\\u0078" : "${long}"}`), { x: bytes });
  t.deepEqual(read(`{"x":"short","y":{"x":"${long}"},"z":["${long}"]}`), { x: 'short', y: { x: long }, z: [long] });
  t.deepEqual(read(`["${long}"]`), [long]);
  t.deepEqual(read(`"${long}"`), long);
  // With an escape it is a text, wherever that is.
  for (const before of ['', long]) {
    for (const after of ['', long]) {
      t.deepEqual(read(`{"x":"${before}\\"\\n${after}","y":[2]}`), { x: `${before}"\n${after}`, y: [2] });
    }
  }
  for (const text of [`{"x":"${long}`, `{"x":"${long}\\`, `{"x":"${long}" "y":1}`, `{"x":"${long}","x":"${long}"}`]) {
    t.throws(() => read(text), { instanceOf: JsonSyntaxError });
  }
});

test('half a surrogate pair is refused at the cuts of pieces', (t) => {
  for (const string of ['\\ud83d', '\\ud83dx\\ude00', '\\ude00', '\\ud83d\\n\\ude00', '\\ud83d\\ud83d\\ude00']) {
    for (let length = 1; length < 24; length += 1) {
      t.throws(() => inPieces(`["abc${string}"]`, length), { message: /^half a surrogate pair at character/ });
    }
  }
});

test('a text that holds half a surrogate pair itself is refused', (t) => {
  t.throws(() => parseStrictJson('["a\ud83d"]'), { message: 'half a surrogate pair at character 3' });
});

test('a long document is read in many slices, and a long string too', (t) => {
  const count = (text: string) => [...parseInSteps(encodeStrictly(text))].length;
  t.true(count(`[${'{"a":"b"},'.repeat(100_000)}1]`) >= 30);
  t.true(count(`"${'a'.repeat(mebibyte)}"`) >= 30);
  t.true(count(`{"a":["${'\\n'.repeat(mebibyte / 2)}"]}`) >= 30);
});

test('what is wrong is never quoted', (t) => {
  for (const text of ['secret', '["secret" 1]', '{"secret":1,"secret":1}', '"secret\\x"', '{"secret"']) {
    const error = t.throws(() => parseStrictJson(text), { instanceOf: JsonSyntaxError });
    t.notRegex(`${error?.message}${error?.stack?.split('\n')[0]}`, /secret/);
    t.is(error?.cause, undefined);
  }
});

test('a refusal for what is in a text says which limit it was', (t) => {
  const problem = (text: string, held: JsonLimits) =>
    t.throws(() => parseStrictJson(text, held), { instanceOf: JsonLimitError })?.message;
  t.is(problem('[1,2,3]', { items: 2 }), 'more than 2 items in an array at character 5');
  t.is(problem('[1,[],3]', { values: 3 }), 'more than 3 values at character 6');
  t.is(
    problem('[{"a":1},{"b":1,"\\u0061":2}]', { names: 1 }),
    'more than 1 different names of members at character 14',
  );
  t.notThrows(() => parseStrictJson('[{"a":1},{"b":1,"\\u0061":2}]', { names: 2 }));
});

test('large texts mean the same at once, in pieces and natively', (t) => {
  // The comparison of the test runner takes minutes for these.
  for (const [what, text] of hostileTexts) {
    const found = outcome(() => parseStrictJson(text));
    t.true(
      isDeepStrictEqual(
        outcome(() => inPieces(text, 32_768)),
        found,
      ),
      what,
    );
    if (found !== refused) t.true(isDeepStrictEqual(found, JSON.parse(text)), what);
  }
});
