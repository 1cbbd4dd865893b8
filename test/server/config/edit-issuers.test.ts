import { ConfigError } from '@signet/server/config/config-error';
import { editIssuers, type IssuersEdit } from '@signet/server/config/edit-issuers';
import test from 'ava';

const next = { certificate: 'next.cert.pem', key: 'next.key.pem' };
const written = `# our server
listen: { port: 4443 } # behind the balancer
certificates:
  # who signs
  issuers:
    # the first one
    - certificate: ca/a.cert.pem # of 2021
      key: ca/a.key.pem
    # the second one
    - { certificate: ca/b.cert.pem, key: ca/b.key.pem, state: draining }
  trustDomain: corp.example
`;

const cases: readonly (readonly [title: string, edit: IssuersEdit, issuers: string])[] = [
  [
    'a new one is added behind those that are there',
    { kind: 'add', entry: next },
    `    # the first one
    - certificate: ca/a.cert.pem # of 2021
      key: ca/a.key.pem
    # the second one
    - { certificate: ca/b.cert.pem, key: ca/b.key.pem, state: draining }
    - certificate: next.cert.pem
      key: next.key.pem
`,
  ],
  [
    'a new one leads, and the others drain, each with its comment',
    { kind: 'lead', entry: next },
    `    - certificate: next.cert.pem
      key: next.key.pem
    # the first one
    - certificate: ca/a.cert.pem # of 2021
      key: ca/a.key.pem
      state: draining
    # the second one
    - { certificate: ca/b.cert.pem, key: ca/b.key.pem, state: draining }
`,
  ],
  [
    'one that is there leads',
    { kind: 'lead', entry: 1 },
    `    # the second one
    - { certificate: ca/b.cert.pem, key: ca/b.key.pem }
    # the first one
    - certificate: ca/a.cert.pem # of 2021
      key: ca/a.key.pem
      state: draining
`,
  ],
  [
    'one is removed with its comment',
    { kind: 'remove', index: 1 },
    `    # the first one
    - certificate: ca/a.cert.pem # of 2021
      key: ca/a.key.pem
`,
  ],
];

for (const [title, edit, issuers] of cases) {
  test(`${title}; everything else stays as it was written`, (t) => {
    const [before = ''] = written.split('    # the first one');
    t.is(editIssuers('signet.yaml', written, edit), `${before}${issuers}  trustDomain: corp.example\n`);
  });
}

test('a list in one line stays one', (t) => {
  const text = 'certificates: { issuers: [ { certificate: a, key: k } ], trustDomain: x }\n';
  const expected = `certificates: { issuers: [ { certificate: ${next.certificate}, key: ${next.key} }, { certificate: a, key: k, state: draining } ], trustDomain: x }\n`;
  t.is(editIssuers('signet.yaml', text, { kind: 'lead', entry: next }), expected);
});

const refused: readonly (readonly [title: string, text: string])[] = [
  ['without a list', 'certificates: { trustDomain: x }\n'],
  ['that is empty', ''],
  ['with a list that is an alias', 'other: &list []\ncertificates: { issuers: *list }\n'],
  ['with an entry that is no mapping', 'certificates: { issuers: [a] }\n'],
  ['that is not YAML', 'certificates: [\n'],
];

for (const [title, text] of refused) {
  test(`a file ${title} is not changed`, (t) => {
    t.throws(() => editIssuers('signet.yaml', text, { kind: 'lead', entry: next }), {
      instanceOf: ConfigError,
      message: /certificates\.issuers is not a list in the file itself: change it by hand/,
    });
  });
}

test('a change that would reach another option by an alias is not made', (t) => {
  const text = 'certificates: { issuers: [&one { certificate: a, key: k }], more: *one }\n';
  t.throws(() => editIssuers('signet.yaml', text, { kind: 'lead', entry: next }), {
    instanceOf: ConfigError,
    message: /cannot be changed safely: change it by hand/,
  });
});
