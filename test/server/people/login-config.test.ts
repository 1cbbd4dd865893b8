import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@signet/server/config/config';
import { ConfigError } from '@signet/server/config/config-error';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* Issuers that cannot be used together, or not so, are refused when the configuration is read. */

const one = { issuer: 'https://one.example', clientId: 'c', claim: 'preferred_username' };
const two = { ...one, issuer: 'https://two.example' };
const { claim: _, ...unnamed } = one;
const table = { ...unnamed, subjects: { s: 'user.jane' } };

function problemsOf(t: ExecutionContext, issuers: readonly object[]): readonly string[] {
  const file = join(temporaryFolder(t), 'signet.yaml');
  const tls = { certificate: 'c', key: 'k', clientCa: 'a' };
  const certificates = { issuers: [{ certificate: 'i', key: 'k' }] };
  writeFileSync(file, JSON.stringify({ tls, certificates, people: { issuers } }));
  try {
    loadConfig(file);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const alike = (index: number, other: number) =>
  `people.issuers.${index} could give names of people.issuers.${other}: give it a prefix of its own`;
const mail = { ...unnamed, claim: 'email', emailDomain: 'example.com' };
const cases: readonly (readonly [note: string, issuers: readonly object[], problems: readonly string[]])[] = [
  ['one with a claim', [one], []],
  ['one with a table', [table], []],
  ['one with mail addresses', [mail], []],
  [
    'two with prefixes',
    [
      { ...one, prefix: 'a-' },
      { ...two, prefix: 'b-' },
    ],
    [],
  ],
  ['two with tables of the same person', [table, { ...table, issuer: two.issuer }], []],
  ['a table beside a prefix', [table, { ...two, prefix: 'b-' }], []],
  ['two with a claim', [one, two], [alike(0, 1), alike(1, 0)]],
  [
    'a prefix that begins another one',
    [
      { ...one, prefix: 'a-' },
      { ...two, prefix: 'a-b-' },
    ],
    [alike(0, 1)],
  ],
  ['a claim beside a table', [table, two], [alike(1, 0)]],
  ['the same issuer twice', [table, { ...table, clientId: 'd' }], ['people.issuers.1 has the issuer of another one']],
  ['neither table nor claim', [unnamed], ['people.issuers.0 must have either subjects or claim']],
  ['both', [{ ...table, claim: 'sub' }], ['people.issuers.0 must have either subjects or claim']],
  [
    'mail addresses of any domain',
    [{ ...unnamed, claim: 'email' }],
    ['people.issuers.0 needs emailDomain for the claim `email`'],
  ],
  [
    'domains without mail addresses',
    [{ ...one, emailDomain: 'example.com' }],
    ['people.issuers.0 has emailDomain, which is for the claim `email`'],
  ],
  ['a prefix without a claim', [{ ...table, prefix: 'a-' }], ['people.issuers.0 has a prefix, which is for a claim']],
  [
    'a name of a service',
    [{ ...unnamed, subjects: { s: 'media.player' } }],
    ['people.issuers.0.subjects.s: must be `user.<name>` in lower case'],
  ],
  [
    'plain http',
    [{ ...one, issuer: 'http://one.example' }],
    ['people.issuers.0.issuer: must be an https address without user, query and fragment'],
  ],
];
for (const [note, issuers, problems] of cases) {
  test(`issuers: ${note}`, (t) => t.deepEqual(problemsOf(t, issuers), [...problems]));
}
