import {
  assertionSchema,
  assertionsSchema,
  isPlainAssertion,
} from '@signet/server/management/documents/document-schema';
import test from 'ava';
import fc from 'fast-check';

/* The quick look at rules accepts nothing that their schema does not accept as it is. */

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    7,
    true,
    [],
    {},
    '',
    ' ',
    'a b',
    'a\nb',
    'a\u0000',
    'a\u202eb',
    '\ud800',
    'ALLOW',
    'deny',
  ),
  fc.string({ maxLength: 5, unit: 'binary' }),
  ...[256, 257, 512, 513, 1024, 1025].map((length) => fc.constant('a'.repeat(length))),
);
const values = fc.oneof(fc.constantFrom('a', 'a,b', 'a,', ',', '*', 'a b', 'ä'), odd);
const set = fc.oneof(
  fc.record({ instances: values, enforcementstate: values, other: odd }, { requiredKeys: [] }),
  fc.constant({ instances: { operator: 'EQUALS', value: 'a' } }),
  odd,
);
const conditions = fc.oneof(
  fc.array(set, { maxLength: 3 }),
  ...[64, 65].map((length) => fc.constant(Array.from({ length }, () => ({ instances: 'a' })))),
);
const rule = fc.record(
  {
    action: fc.oneof(fc.constant('read'), odd),
    resource: fc.oneof(fc.constant('movie.*'), odd),
    role: fc.oneof(fc.constant('reader'), odd),
    effect: fc.oneof(fc.constantFrom('ALLOW', 'DENY'), odd),
    conditions: fc.oneof(conditions, odd),
    caseSensitive: odd,
    other: odd,
  },
  { requiredKeys: [] },
);

test('what counts as a plain rule is one by the schema, and stays as it is', (t) => {
  let plain = 0;
  fc.assert(
    fc.property(fc.oneof(rule, fc.record({ action: odd, resource: odd, role: odd })), (value) => {
      if (!isPlainAssertion(value)) return;
      plain += 1;
      const read = assertionSchema.safeParse(value);
      t.true(read.success);
      t.deepEqual<unknown, unknown>(read.data, value);
    }),
    { numRuns: 3000 },
  );
  t.true(plain > 0);
});

test('what people write is a plain rule, and everything else is read by the schema', (t) => {
  const usual = { action: 'read', resource: 'catalog:movie.*', role: 'reader' };
  for (const value of [usual, { ...usual, effect: 'ALLOW' }, { effect: 'DENY', ...usual }]) {
    t.true(isPlainAssertion(value));
    t.deepEqual<unknown, unknown>(assertionsSchema.parse([value]), [value]);
  }
  for (const conditions of [[{ instances: 'a,b' }], [{}], Array.from({ length: 64 }, () => ({ instances: 'a' }))]) {
    t.true(isPlainAssertion({ ...usual, conditions }));
    t.true(assertionsSchema.safeParse([{ ...usual, conditions }]).success);
  }
  for (const more of [
    { effect: 'deny' },
    { caseSensitive: true },
    { conditions: [{ instances: { operator: 'EQUALS', value: 'a' } }] },
  ]) {
    t.false(isPlainAssertion({ ...usual, ...more }));
    t.true(assertionsSchema.safeParse([{ ...usual, ...more }]).success);
  }
  for (const more of [
    { effect: 'MAYBE' },
    { other: 1 },
    { action: '' },
    { resource: 'a b' },
    { role: 'a\nb' },
    { role: undefined },
    { conditions: [] },
    { conditions: {} },
    { conditions: [[]] },
    { conditions: [{ other: 'a' }] },
    { conditions: [{ instances: 'a ' }] },
    { conditions: [{ instances: 'a'.repeat(1025) }] },
    { conditions: Array.from({ length: 65 }, () => ({ instances: 'a' })) },
  ]) {
    t.false(isPlainAssertion({ ...usual, ...more }));
    t.false(assertionsSchema.safeParse([{ ...usual, ...more }]).success);
  }
  for (const none of [null, undefined, 'read', 7, [], {}]) t.false(isPlainAssertion(none));
});
