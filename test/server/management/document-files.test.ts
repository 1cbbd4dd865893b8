import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DocumentProblem, formatProblem, InvalidDocumentError } from '@signet/server/errors';
import { checkDocuments } from '@signet/server/management/check-documents';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { parsePublicKey } from '@signet/server/management/public-key';
import { noStore } from '@signet/server/management/stored-world';
import test from 'ava';
import { assertWithin, leastProcessorMs } from '#support/cost';
import { temporaryFolder } from '#support/temp';

/* Files in a folder under the name of a document, and the cost of large documents. */

const right = 'domain: d\nroles: { admin: { members: [user.jane] } }\n';
const mebibyte = 1024 * 1024;

const made: readonly (readonly [note: string, make: (file: string) => unknown, said: string])[] = [
  ['a folder', (file) => mkdirSync(file), 'is not a regular file'],
  ['a pipe', (file) => execFileSync('mkfifo', [file]), 'is not a regular file'],
  ['a device', (file) => symlinkSync('/dev/zero', file), 'is not a regular file'],
  ['a link to nothing', (file) => symlinkSync('nothing', file), 'cannot be read (ENOENT)'],
  [
    'a file that is too large to be read',
    (file) => {
      writeFileSync(file, '');
      truncateSync(file, 3 * 8 * mebibyte + 1);
    },
    'the file is larger than 8 MiB',
  ],
  [
    'Latin-1',
    (file) => writeFileSync(file, Buffer.from('domain: d\ndescription: café\n', 'latin1')),
    'is not UTF-8 text',
  ],
  ['UTF-16', (file) => writeFileSync(file, Buffer.from(`\ufeff${right}`, 'utf16le')), 'is not UTF-8 text'],
  ['deep nesting', (file) => writeFileSync(file, `roles: ${'['.repeat(20_000)}`), 'is nested too deeply'],
];

for (const [note, make, said] of made) {
  for (const name of ['e.yaml', 'd.cases.yaml']) {
    test(`it is said of ${name} which file it is: ${note}`, (t) => {
      const folder = temporaryFolder(t);
      writeFileSync(join(folder, 'd.yaml'), right);
      make(join(folder, name));
      const { problems } = t.throws(() => readDocumentFolder(folder), { instanceOf: InvalidDocumentError });
      const line = problems.map(formatProblem).join('\n');
      t.true(line.startsWith(`${join(folder, name)}:1:`), line);
      t.true(line.includes(`: ${said}`), line);
    });
  }
}

test('documents are read through links, with the mark of UTF-8, and as large as they may be', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'data'), `\ufeff${right.replaceAll('\n', '\r\n')}`);
  symlinkSync('data', join(folder, 'd.yaml'));
  const begin = 'domain: e\n#';
  // Three bytes for each character.
  writeFileSync(join(folder, 'e.yaml'), begin + '€'.repeat(8 * mebibyte - begin.length));
  t.deepEqual(
    readDocumentFolder(folder).documents.map(({ content }) => content.name as string),
    ['d', 'e'],
  );
});

const count = (many: number, line: (index: number) => string) =>
  Array.from({ length: many }, (_, at) => line(at)).join('');

function warningsOf(...texts: readonly string[]): readonly DocumentProblem[] {
  const documents = texts.map((text) => {
    const parsed = parseDomainDocument('d.yaml', text, parsePublicKey);
    if (parsed.kind === 'bad') throw new InvalidDocumentError(parsed.problems);
    return parsed.document;
  });
  return checkDocuments(documents, noStore, 0).warnings;
}

const used = count(5000, (index) => `    - { action: a, resource: x, role: r${index} }\n`);
const pattern = 'aaaaaaaaaaaa*'.repeat(60);

const large: readonly (readonly [note: string, texts: readonly string[], warnings: number])[] = [
  [
    'fifty thousand members that do not exist',
    [`domain: d\nroles:\n  r:\n    members:\n${count(50_000, (index) => `      - d.s${index}\n`)}`],
    50_000,
  ],
  [
    'five thousand roles that nobody has',
    [`domain: d\nroles:\n${count(5000, (index) => `  r${index}: {}\n`)}policies:\n  p:\n${used}`],
    5000,
  ],
  [
    'five thousand roles that five thousand assertions do not lend',
    [
      `domain: d\nroles:\n${count(5000, (index) => `  r${index}: { trust: e }\n`)}policies:\n  p:\n${used}`,
      `domain: e\nroles: { s: {} }\npolicies:\n  p:\n${count(5000, (index) => `    - { action: assume_role, resource: "d:role.q${index}", role: s }\n`)}`,
    ],
    5001,
  ],
  [
    'three hundred DENY whose patterns nearly cover each of three hundred ALLOW',
    [
      `domain: d\nroles: { r: { members: [user.a] } }\npolicies:\n  p:\n${count(300, (index) => `    - { action: a, resource: "${pattern}b${index}", role: r }\n    - { effect: deny, action: a, resource: "${pattern}c${index}", role: r }\n`)}`,
    ],
    0,
  ],
];

for (const [note, texts, warnings] of large) {
  test.serial(`what is warned of costs no square of it: ${note}`, async (t) => {
    t.is(warningsOf(...texts).length, warnings);
    assertWithin(t, note, await leastProcessorMs(() => warningsOf(...texts), 3000), 3000, 'ms of processor time');
  });
}

test('two hundred thousand problems are all told', (t) => {
  const folder = temporaryFolder(t);
  const members = count(200_000, (index) => `      - b${index}\n`);
  writeFileSync(join(folder, 'd.yaml'), `domain: d\nroles:\n  r:\n    members:\n${members}`);
  const { problems } = t.throws(() => readDocumentFolder(folder), { instanceOf: InvalidDocumentError });
  t.is(problems.length, 200_000);
});
