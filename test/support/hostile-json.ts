/** The longest body of the management API by default. */
export const mebibyte = 1_048_576;

/** Maximum of copies of `item` with commas between them that fit, with `before` and `after` around them. */
function filled(before: string, item: (index: number) => string, after: string, most = Infinity): string {
  const parts = [before];
  let length = before.length + after.length;
  for (let index = 0; index < most; index += 1) {
    const text = `${index === 0 ? '' : ','}${item(index)}`;
    length += text.length;
    if (length > mebibyte) break;
    parts.push(text);
  }
  return parts.join('') + after;
}

/** Values that cost more than their characters, each as long as a body may be. */
export const hostileTexts: readonly (readonly [name: string, json: string])[] = [
  ['numbers', filled('[', () => '1', ']')],
  ['large numbers', filled('[', () => '9e99', ']')],
  ['one long number', '1'.repeat(mebibyte)],
  ['one long fraction', `0.${'1'.repeat(mebibyte - 2)}`],
  ['one long exponent', `1e${'0'.repeat(mebibyte - 3)}1`],
  ['empty strings', filled('[', () => '""', ']')],
  ['empty arrays', filled('[', () => '[]', ']')],
  ['empty objects', filled('[', () => '{}', ']')],
  ['empty objects with blanks', filled('[', () => '{  }', ']')],
  ['arrays in arrays', filled('[', () => `${'['.repeat(28)}${']'.repeat(28)}`, ']')],
  ['deep arrays', '['.repeat(mebibyte)],
  ['deep objects', '{"a":'.repeat(mebibyte / 5)],
  ['names in one object', filled('{', (index) => `"k${index.toString(36)}":1`, '}')],
  ['numbers as names', filled('{', (index) => `"${index * 7919}":1`, '}')],
  ['objects with names of their own', filled('[', (index) => `{"k${index.toString(36)}":1}`, ']')],
  ['one name many times', filled('{', () => '"a":1', '}')],
  ['one long string', `"${'a'.repeat(mebibyte - 2)}"`],
  ['one long string of escapes', `"${'\\n'.repeat(mebibyte / 2 - 1)}"`],
  ['one long string of code points', `"${'\\u0061'.repeat(174_000)}"`],
  ['a string without an end', `"${'a'.repeat(mebibyte - 1)}`],
  ['strings with escapes', filled('[', () => '"\\n"', ']')],
  ['one long name', `{"${'a'.repeat(mebibyte - 5)}":1}`],
  ['blanks', `[${' '.repeat(mebibyte - 2)}]`],
  ['blanks between numbers', filled('[', () => '1  ', ']')],
  ['words', filled('[', () => 'null', ']')],
];

/** Values that no reader refuses for their size alone: what they mean is wrong, or nearly right. */
export const hostileValues: readonly (readonly [name: string, json: string])[] = [
  ['a hundred thousand numbers', filled('[', () => '1', ']', 99_000)],
  ['empty objects', filled('[', () => '{}', ']', 99_000)],
  ['names in one object', filled('{', (index) => `"k${index.toString(36)}":1`, '}', 1900)],
  ['lists in one object', filled('{', (index) => `"k${index}":[${'{},'.repeat(30)}{}]`, '}', 1900)],
  ['one long string', `"${'a'.repeat(1_040_000)}"`],
  ['one long string of dots', `"${'a.'.repeat(520_000)}"`],
  ['one long string of joiners', `"${'\u200c'.repeat(170_000)}"`],
  ['a PEM of one block', `"-----BEGIN PUBLIC KEY-----${'A'.repeat(1_000_000)}"`],
  ['members', filled('[', (index) => `"a.b${index}"`, ']')],
  ['members, the last of which is wrong', filled('[', (index) => `"a.b${index}"`, ',"x"]').replace(/,"a\.b\d+",/, ',')],
  ['members that are not names', filled('[', () => '"a b"', ']')],
  ['members that are there twice', filled('[', () => '"a.b"', ']')],
  ['members as objects', filled('[', (index) => `{"name":"a.b${index}"}`, ']')],
  ['members with times', filled('[', (index) => `{"name":"a.b${index}","expires":"2027-01-01T00:00:00Z"}`, ']')],
  ['members with wrong times', filled('[', (index) => `{"name":"a.b${index}","expires":"x"}`, ']')],
  ['members with unknown fields', filled('[', () => '{"name":"a.b","x":1}', ']')],
  ['rules', filled('[', (index) => `{"role":"reader","action":"a","resource":"r${index}"}`, ']')],
  ['rules for roles that are not there', filled('[', () => '{"role":"none","action":"a","resource":"r"}', ']')],
  ['rules for patterns of roles', filled('[', (index) => `{"role":"*${index}","action":"a","resource":"r"}`, ']')],
  ['rules without fields', filled('[', () => '{"role":1,"action":1,"resource":1}', ']')],
  [
    'rules with many wildcards',
    filled('[', () => `{"role":"reader","action":"a","resource":"${'*a'.repeat(64)}"}`, ']'),
  ],
  [
    'rules with conditions',
    filled(
      '[',
      () => `{"role":"reader","action":"a","resource":"r","conditions":[${'{"instances":"a"},'.repeat(63)}{}]}`,
      ']',
    ),
  ],
];

/**
 * Bodies for an operation whose body is an object with `fields`: each hostile value by itself, and every other one for each field. One at a
 * time, as all of them are a lot of memory.
 */
export function* hostileBodies(fields: Readonly<Record<string, unknown>>): Generator<[name: string, json: string]> {
  for (const [name, json] of hostileValues) yield [name, json];
  for (const [place, field] of Object.keys(fields).entries()) {
    const { [field]: _, ...others } = fields;
    const rest = JSON.stringify(others).slice(1);
    for (const [name, json] of hostileValues.filter((_, index) => index % 2 === place % 2)) {
      const text = `{${JSON.stringify(field)}:${json}${rest === '}' ? '' : ','}${rest}`;
      // In one piece, as a server reads it: a text that is put together costs more at each character.
      yield [`${field}: ${name}`, Buffer.from(text).toString()];
    }
  }
}
