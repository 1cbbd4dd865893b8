import { staticKeys } from '@signet/policy-engine';
import { verifyBundle } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';

/** The strict parser is private; a bundle's outer form is the way to it. */
async function problemOf(text: string): Promise<string> {
  const options = { domain: parseDomainName('d'), keys: staticKeys({ keys: [] }), now: 0 };
  try {
    await verifyBundle(text, options);
  } catch (error) {
    if (error instanceof Error) return error.message.replace('bundle is malformed: ', '');
  }
  return 'none';
}

const refused: [note: string, text: string, problem: string][] = [
  ['nothing', '', 'no value at character 0'],
  ['a byte order mark', '\ufeff{}', 'no value at character 0'],
  ['a member twice', '{"a":1,"a":1}', 'a member twice at character 12'],
  ['a member twice, once escaped', '{"a":1,"\\u0061":1}', 'a member twice at character 17'],
  ['a comma too many in an object', '{"a":1,}', 'no string at character 7'],
  ['a comma too many in a list', '[1,]', 'no value at character 3'],
  ['only a comma', '[,]', 'no value at character 1'],
  ['no comma', '[1 2]', 'no comma at character 3'],
  ['no colon', '{"a" 1}', 'no colon at character 5'],
  ['no value', '{"a":}', 'no value at character 5'],
  ['an empty key without a value', '{"":}', 'no value at character 4'],
  ['the wrong bracket', '[1}', 'no comma at character 2'],
  ['an open object', '{"a":1', 'no comma at character 6'],
  ['an open string', '"a', 'a character that a string may not hold at character 2'],
  ['a control character', '"a\nb"', 'a character that a string may not hold at character 2'],
  ['an unknown escape', '"\\x41"', 'no escape at character 2'],
  ['half a surrogate pair, escaped', '"\\ud800"', 'half a surrogate pair at character 8'],
  ['the other half', '"\\udc00a"', 'half a surrogate pair at character 9'],
  ['half a surrogate pair, plain', '"\ud800"', 'it is not well-formed text'],
  ['a number too large', '1e400', 'no value at character 5'],
  ['a leading zero', '01', 'more text than one value at character 1'],
  ['a plus', '+1', 'no value at character 0'],
  ['not a number', 'NaN', 'no value at character 0'],
  ['two values', '{} {}', 'more text than one value at character 3'],
  ['33 levels', '['.repeat(33), 'more levels than 32 at character 33'],
];
for (const [note, text, problem] of refused) {
  test(`refused: ${note}`, async (t) => t.is(await problemOf(text), problem));
}

const understood = [
  '{}',
  ' {"a":[],"b":{},"c":[1,-0.5e+3,true,false,null,"x\\n\\u00e9\\ud83d\\ude00"]} ',
  '{"__proto__":{"payload":"x"},"constructor":1,"":2}',
];
for (const text of understood) {
  test(`understood: ${text}`, async (t) => {
    t.is(await problemOf(text), '`payload`, `protected` or `signature` is missing');
  });
}
