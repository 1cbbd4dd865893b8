import { formatProblem, InvalidRequestError } from '@signet/server/errors';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { parsePublicKey } from '@signet/server/management/public-key';
import { parseReason } from '@signet/server/management/require-reason';
import test from 'ava';

/** Every character of Bidi_Control, and others that hide, turn or move what is shown. */
const deceiving = [
  ...['061c', '200e', '200f', '202a', '202b', '202c', '202d', '202e', '2066', '2067', '2068', '2069'],
  ...['0000', '0007', '001b', '007f', '009b', '00ad', '180e', '200b', '2028', '2029', '2060', 'feff', 'fff9', 'e0041'],
].map((code) => String.fromCodePoint(Number.parseInt(code, 16)));

const rule = (fields: string) => `domain: c\nroles: { r: {} }\npolicies:\n  p:\n    - { ${fields} }\n`;

/** Where documents take text of any kind; `X` stands for it. */
const places: readonly (readonly [field: string, document: string])[] = [
  ['description', 'domain: c\ndescription: "aXb"\n'],
  ['roles.r.description', 'domain: c\nroles: { r: { description: "aXb" } }\n'],
  ['groups.g.description', 'domain: c\ngroups: { g: { description: "aXb" } }\n'],
  ['services.s.description', 'domain: c\nservices: { s: { description: "aXb" } }\n'],
  ['policies.p.description', 'domain: c\npolicies: { p: { description: "aXb", active: null, versions: {} } }\n'],
  ['services.s.hosts[0]', 'domain: c\nservices: { s: { hosts: ["aXb"] } }\n'],
  // Reading an address drops some of them, and the text is what is stored.
  ['services.s.endpoint', 'domain: c\nservices: { s: { endpoint: "https://x.test/aXb" } }\n'],
  ['policies.p[0].action', rule('action: "aXb", resource: x, role: r')],
  ['policies.p[0].resource', rule('action: a, resource: "aXb", role: r')],
];
for (const [field, document] of places) {
  test(`${field}: no character that deceives a reader`, (t) => {
    for (const character of deceiving) {
      const escaped = [...Array(character.length)].map((_, at) =>
        character.charCodeAt(at).toString(16).padStart(4, '0'),
      );
      const text = document.replace('X', escaped.length === 1 ? `\\u${escaped[0]}` : '\\U000e0041');
      const { problems = [] } = asResult(text);
      t.true(
        problems.some((problem) => problem.includes(`${field}: must not hold control or format characters`)),
        `U+${escaped.join(' ')}: ${problems.join('; ')}`,
      );
    }
  });
}

function asResult(text: string): { readonly problems?: readonly string[] } {
  const parsed = parseDomainDocument('c.yaml', text, parsePublicKey);
  return 'problems' in parsed ? { problems: parsed.problems.map(formatProblem) } : {};
}

test('the value of a condition holds none of them', (t) => {
  for (const character of deceiving.filter((one) => one.length === 1)) {
    const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const conditions = `conditions: [{ instances: "a${escaped}b" }]`;
    const { problems = [] } = asResult(rule(`action: a, resource: x, role: r, ${conditions}`));
    t.true(
      problems.some((problem) => problem.includes('must be one value, or several with commas')),
      escaped,
    );
  }
});

test('a name holds none of them either', (t) => {
  for (const character of deceiving.filter((one) => one.length === 1 && one >= ' ')) {
    for (const document of [`domain: "c${character}"\n`, `domain: c\nroles: { "r${character}": {} }\n`]) {
      t.true((asResult(document).problems ?? []).length > 0, `U+${character.charCodeAt(0).toString(16)}`);
    }
  }
});

test('letters of all scripts, their joiners and symbols are text', (t) => {
  for (const text of [
    'für alle',
    'می\u200cخواهم',
    'क्\u200dष',
    '한국어',
    '👩\u200d💻 ❤️',
    'שלום',
    'two\\nlines\\tmore',
  ]) {
    t.deepEqual(asResult(`domain: c\ndescription: "${text}"\n`), {}, text);
  }
});

test('a reason is one line of plain text, of at most 1024 characters', (t) => {
  for (const character of [...deceiving, '\n', '\t', '\ud800']) {
    t.throws(() => parseReason(`a${character}b`), {
      instanceOf: InvalidRequestError,
      message: /^reason: must not hold/,
    });
  }
  t.is(parseReason('für alle 👩\u200d💻'), 'für alle 👩\u200d💻');
  t.is(parseReason('x'.repeat(1024)).length, 1024);
  t.throws(() => parseReason('x'.repeat(1025)), {
    instanceOf: InvalidRequestError,
    message: /at most 1024 characters$/,
  });
});
