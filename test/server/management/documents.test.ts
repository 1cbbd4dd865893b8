import { generateKeyPairSync } from 'node:crypto';
import { compileDomain } from '@signet/policy-engine/policy';
import { formatProblem } from '@signet/server/errors';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { parseYaml } from '@signet/server/management/documents/yaml-source';
import { parsePublicKey } from '@signet/server/management/public-key';
import { recordFields } from '@signet/server/model/record-fields';
import test from 'ava';
import { isNoName } from '#support/invalid-name';

const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = ecKey.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const privatePem = ecKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const weakPem = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();
const indented = (text: string) => text.trimEnd().replaceAll('\n', '\n        ');

const everything = `
domain: Catalog
description: |
  two lines,
  kept
enabled: false
limits: { tokenExpirySeconds: 7200, serviceCertExpirySeconds: 1, roleCertExpirySeconds: 2 }
accounts: { aws: "012345678901" }
roles:
  Reader:
    description: reads
    tokenExpirySeconds: 60
    certExpirySeconds: 61
    members:
      - media.studio
      - { name: Media.Player, expires: 2027-01-01T00:00:00Z, disabled: true, review: "2026-06-01T00:00:00.5Z" }
      - "*"
      - media.*
      - partner:group.staff
      - user.jane
  viewer: { trust: partner }
  empty: {}
groups:
  staff: { description: people, members: [media.player] }
policies:
  movies:
    - { effect: deny, action: WRITE, resource: Movie, role: reader }
    - { action: "re*", resource: "catalog:movie/*", role: "catalog:role.re?der" }
    - { effect: ALLOW, action: assume_role, resource: "partner:role.x", role: role.reader }
  series:
    description: two of them
    active: "2"
    versions:
      "1": []
      "2":
        - { action: read, resource: series, role: "*" }
services:
  api:
    description: answers
    enabled: true
    hosts: [b.example, a.example]
    endpoint: https://catalog.example:4443/x
    publicKeys:
      "0": |
        ${indented(pem)}
  bare: {}
`;

test('a document that uses everything', (t) => {
  const result = parseDomainDocument('catalog.yaml', everything, parsePublicKey);
  if (result.kind === 'bad') return t.fail(result.problems.map(formatProblem).join('\n'));
  const { content, keepsKeys } = result.document;
  const plain = JSON.parse(JSON.stringify(content)) as unknown;
  t.deepEqual([...keepsKeys], ['bare']);
  t.deepEqual(plain, {
    name: 'catalog',
    enabled: false,
    requireReason: false,
    description: 'two lines,\nkept\n',
    limits: { tokenExpirySeconds: 7200, serviceCertExpirySeconds: 1, roleCertExpirySeconds: 2 },
    accounts: { aws: '012345678901' },
    roles: [
      { name: 'empty', members: [] },
      {
        name: 'reader',
        description: 'reads',
        tokenExpirySeconds: 60,
        certExpirySeconds: 61,
        members: [
          { name: '*', disabled: false },
          { name: 'media.*', disabled: false },
          { name: 'media.player', expires: 1_798_761_600_000, disabled: true, review: 1_780_272_000_500 },
          { name: 'media.studio', disabled: false },
          { name: 'partner:group.staff', disabled: false },
          { name: 'user.jane', disabled: false },
        ],
      },
      { name: 'viewer', trust: 'partner', members: [] },
    ],
    groups: [{ name: 'staff', description: 'people', members: [{ name: 'media.player', disabled: false }] }],
    policies: [
      {
        name: 'movies',
        version: '0',
        active: true,
        caseSensitive: false,
        assertions: [
          {
            effect: 'DENY',
            role: 'catalog:role.reader',
            action: 'write',
            resource: 'catalog:movie',
            caseSensitive: false,
          },
          {
            effect: 'ALLOW',
            role: 'catalog:role.re?der',
            action: 're*',
            resource: 'catalog:movie/*',
            caseSensitive: false,
          },
          {
            effect: 'ALLOW',
            role: 'catalog:role.reader',
            action: 'assume_role',
            resource: 'partner:role.x',
            caseSensitive: false,
          },
        ],
      },
      { name: 'series', version: '1', active: false, description: 'two of them', caseSensitive: false, assertions: [] },
      {
        name: 'series',
        version: '2',
        active: true,
        description: 'two of them',
        caseSensitive: false,
        assertions: [
          { effect: 'ALLOW', role: 'catalog:role.*', action: 'read', resource: 'catalog:series', caseSensitive: false },
        ],
      },
    ],
    services: [
      {
        name: 'api',
        description: 'answers',
        enabled: true,
        endpoint: 'https://catalog.example:4443/x',
        hosts: ['b.example', 'a.example'],
        publicKeys: [{ id: '0', pem }],
      },
      { name: 'bare', enabled: true, hosts: [], publicKeys: [] },
    ],
  });
});

const member = (text: string) => `domain: c\nroles:\n  r:\n    members:\n      - ${text}\n`;
const rule = (text: string) => `domain: c\nroles: { r: {} }\npolicies:\n  p:\n    - ${text}\n`;
const service = (text: string) => `domain: c\nservices:\n  s:\n    ${text}\n`;
const timeHint = 'must be a UTC time such as `2027-01-01T00:00:00Z`';
const memberHint = 'a member is `domain.service`, `user.name` or `domain:group.name`';
const patternHint = 'a pattern is `*`, or a prefix such as `media.*`, with one `*` at its end';
const topKeys = ['domain', ...Object.keys(recordFields.domain), 'limits', 'quotas', 'accounts']
  .concat('roles', 'groups', 'policies', 'services')
  .map((key) => `\`${key}\``)
  .join(', ');

/** Fault, text, and every line of its report. */
const faults: readonly (readonly [note: string, text: string, ...said: string[]])[] = [
  ['nothing at all', '', '1:1: must be a mapping'],
  ['a list', '- a\n', '1:1: must be a mapping'],
  ['no domain', 'description: x\n', '1:1: domain: must be a string (put it in quotes if it looks like a number)'],
  ['a domain that is none', 'domain: "a b"\n', `1:9: domain: ${isNoName('DomainName')}`],
  ['a hostile domain', 'domain: "x\'; drop table domains; --"\n', `1:9: domain: ${isNoName('DomainName')}`],
  ['a domain with NUL', 'domain: "a\\0b"\n', `1:9: domain: ${isNoName('DomainName')}`],
  ['a domain with an emoji', 'domain: "a\u{1f512}"\n', `1:9: domain: ${isNoName('DomainName')}`],
  ['a domain that is too long', `domain: ${'x'.repeat(257)}\n`, `1:9: domain: ${isNoName('DomainName')}`],
  [
    'an unknown key',
    'domain: c\npolices: {}\n',
    `2:1: polices: is not known here; allowed: ${topKeys}: did you mean \`policies\`?`,
  ],
  ['a key twice', 'domain: c\nroles:\n  a: {}\n  a: {}\n', '4:3: map keys must be unique'],
  [
    'a name twice in other case',
    'domain: c\nroles:\n  a: {}\n  A: {}\n',
    '4:3: roles.A: is there twice: names are compared without case',
  ],
  ['a tab for a blank', 'domain: c\nroles:\n\ta: {}\n', '3:1: tabs are not allowed as indentation'],
  [
    'two documents',
    'domain: c\n---\ndomain: d\n',
    '2:1: source contains multiple documents; please use YAML.parseAllDocuments()',
  ],
  [
    'a description that is a list',
    'domain: c\ndescription: [x]\n',
    '2:1: description: must be a string (put it in quotes if it looks like a number)',
  ],
  [
    'a description with NUL',
    'domain: c\ndescription: "a\\0b"\n',
    '2:14: description: must not hold control or format characters',
  ],
  ['a switch that is a text', 'domain: c\nenabled: maybe\n', '2:10: enabled: must be `true` or `false`'],
  [
    'a limit of nothing',
    'domain: c\nlimits: { tokenExpirySeconds: 0 }\n',
    '2:31: limits.tokenExpirySeconds: must be at least 1 second',
  ],
  [
    'half a second',
    'domain: c\nlimits: { tokenExpirySeconds: 1.5 }\n',
    '2:31: limits.tokenExpirySeconds: must be an integer',
  ],
  [
    'an account without quotes',
    'domain: c\naccounts: { aws: 123456789012 }\n',
    '2:18: accounts.aws: must be a string (put it in quotes if it looks like a number)',
  ],
  ['an account that is too short', 'domain: c\naccounts: { aws: "1234" }\n', '2:18: accounts.aws: must be 12 digits'],
  ['one by its former name', 'domain: c\naccount: { aws: "1234" }\n', '2:17: account.aws: must be 12 digits'],
  [
    'accounts by both names',
    'domain: c\naccounts: { aws: "012345678901" }\naccount: { aws: "012345678901" }\n',
    '3:1: account: is the former name of `accounts`: give one of them',
  ],
  ['a role name', 'domain: c\nroles:\n  odd name: {}\n', `3:3: roles.odd name: ${isNoName('RoleName')}`],
  ['a member without a dot', member('player'), `5:9: roles.r.members[0]: ${memberHint}`],
  [
    'a member of another kind',
    member('7'),
    '5:9: roles.r.members[0]: must be a string (put it in quotes if it looks like a number)',
  ],
  ['a hostile member', member('"a.b; rm"'), `5:9: roles.r.members[0]: ${isNoName('PrincipalName')}`],
  ['a group that is none', member('a:role.b'), `5:9: roles.r.members[0]: ${isNoName('PrincipalName')}`],
  ['a star in the middle', member('"a*b"'), `5:9: roles.r.members[0]: ${patternHint}`],
  ['two stars', member('"a.**"'), `5:9: roles.r.members[0]: ${patternHint}`],
  [
    'a member twice',
    'domain: c\nroles:\n  r: { members: [a.b, A.B] }\n',
    '3:23: roles.r.members[1]: `a.b` is there twice',
  ],
  ['a day', member('{ name: a.b, expires: 2027-01-01 }'), `5:31: roles.r.members[0].expires: ${timeHint}`],
  [
    'a day that never was',
    member('{ name: a.b, expires: 2027-13-41T00:00:00Z }'),
    `5:31: roles.r.members[0].expires: ${timeHint}`,
  ],
  [
    'a local time',
    member('{ name: a.b, review: "2027-01-01T00:00:00+01:00" }'),
    `5:30: roles.r.members[0].review: ${timeHint}`,
  ],
  [
    'an unknown key of a member',
    member('{ name: a.b, expire: x }'),
    '5:22: roles.r.members[0].expire: is not known here; allowed: `name`, `expires`, `disabled`, `review`: did you mean `expires`?',
  ],
  [
    'trust in itself',
    'domain: c\nroles:\n  r: { trust: C }\n',
    '3:15: roles.r.trust: a role cannot trust its own domain',
  ],
  [
    'trust and members',
    'domain: c\nroles:\n  r: { trust: d, members: [] }\n',
    '3:15: roles.r.trust: a role that trusts another domain has no members of its own',
  ],
  [
    'a pattern in a group',
    'domain: c\ngroups:\n  g: { members: ["*"] }\n',
    '3:18: groups.g.members[0]: a group has no pattern members',
  ],
  [
    'a group in a group',
    'domain: c\ngroups:\n  g: { members: ["c:group.h"] }\n',
    '3:18: groups.g.members[0]: a group has no groups as members',
  ],
  [
    'an effect',
    rule('{ effect: permit, action: a, resource: b, role: r }'),
    '5:17: policies.p[0].effect: must be `ALLOW` or `DENY`',
  ],
  [
    'no action',
    rule('{ resource: b, role: r }'),
    '5:7: policies.p[0].action: must be a string (put it in quotes if it looks like a number)',
  ],
  [
    'an empty resource',
    rule('{ action: a, resource: "", role: r }'),
    '5:30: policies.p[0].resource: must not be empty',
  ],
  [
    'a resource with blanks',
    rule('{ action: a, resource: "a b", role: r }'),
    '5:30: policies.p[0].resource: must not hold blanks',
  ],
  [
    'a resource of another domain',
    rule('{ action: a, resource: "d:b", role: r }'),
    '5:30: policies.p[0].resource: a policy of domain `c` cannot name other domains',
  ],
  [
    'an action with blanks',
    rule('{ action: "a b", resource: b, role: r }'),
    '5:17: policies.p[0].action: is not a valid action or pattern',
  ],
  [
    'an action of 257 characters',
    rule(`{ action: ${'a'.repeat(257)}, resource: b, role: r }`),
    '5:17: policies.p[0].action: must have at most 256 characters',
  ],
  [
    'a pattern of 65 wildcards',
    rule(`{ action: a, resource: ${'b*'.repeat(65)}, role: r }`),
    '5:30: policies.p[0].resource: a pattern must have at most 64 wildcards',
  ],
  [
    'a role that is missing',
    rule('{ action: a, resource: b, role: s }'),
    '5:39: policies.p[0].role: domain `c` has no role `s`',
  ],
  [
    'a role pattern that fits none',
    rule('{ action: a, resource: b, role: "s*" }'),
    '5:39: policies.p[0].role: domain `c` has no role `s*`',
  ],
  [
    'a role of another domain',
    rule('{ action: a, resource: b, role: "d:role.r" }'),
    '5:39: policies.p[0].role: a role of a policy belongs to its own domain `c`',
  ],
  [
    'a version that is not there',
    'domain: c\npolicies:\n  p: { active: "2", versions: { "1": [] } }\n',
    '3:16: policies.p.active: there is no version `2`',
  ],
  [
    'a version called oddly',
    'domain: c\npolicies:\n  p: { active: null, versions: { "a b": [] } }\n',
    '3:34: policies.p.versions.a b: is not a valid version',
  ],
  [
    'a service name that is too long for a certificate',
    `domain: c\nservices:\n  ${'s'.repeat(63)}: {}\n`,
    `3:3: services.${'s'.repeat(63)}: \`c.${'s'.repeat(63)}\` has more than the 64 characters that a certificate can name`,
  ],
  ['a service name with a dot', 'domain: c\nservices:\n  a.b: {}\n', `3:3: services.a.b: ${isNoName('ServiceName')}`],
  [
    'an endpoint in the clear',
    service('endpoint: http://x'),
    '4:15: services.s.endpoint: must be an `https:` address without user name and fragment',
  ],
  [
    'an endpoint with a password',
    service('endpoint: https://a:b@x'),
    '4:15: services.s.endpoint: must be an `https:` address without user name and fragment',
  ],
  ['no key', service('publicKeys: { "0": nonsense }'), '4:24: services.s.publicKeys.0: is not a public key in PEM'],
  [
    'a broken key',
    service('publicKeys: { "0": "-----BEGIN PUBLIC KEY-----" }'),
    '4:24: services.s.publicKeys.0: is not a public key in PEM',
  ],
  [
    'a private key',
    service(`publicKeys:\n      "0": |\n        ${indented(privatePem)}`),
    '5:12: services.s.publicKeys.0: a private key was given where a public one is needed',
  ],
  [
    'a weak key',
    service(`publicKeys:\n      "0": |\n        ${indented(weakPem)}`),
    '5:12: services.s.publicKeys.0: is a key of a kind that is not accepted: use P-256, P-384, P-521, RSA 2048 or more, or Ed25519',
  ],
  [
    'several things at once',
    'domain: c\nroles:\n  r: { members: [player, "a*b"] }\n  s t: {}\n',
    `4:3: roles.s t: ${isNoName('RoleName')}`,
    `3:18: roles.r.members[0]: ${memberHint}`,
    `3:26: roles.r.members[1]: ${patternHint}`,
  ],
];

for (const [note, text, ...said] of faults) {
  test(`refused: ${note}`, (t) => {
    const result = parseDomainDocument('f.yaml', text, parsePublicKey);
    if (result.kind === 'ok') return t.fail('it was accepted');
    t.deepEqual(
      result.problems.map(formatProblem),
      said.map((line) => `f.yaml:${line}`),
    );
  });
}

test('no part of a private key is ever quoted', (t) => {
  const result = parseDomainDocument(
    'f.yaml',
    service(`publicKeys:\n      "0": |\n        ${indented(privatePem)}`),
    parsePublicKey,
  );
  if (result.kind === 'ok') return t.fail('it was accepted');
  const secret = privatePem.split('\n')[1] ?? '';
  t.false(result.problems.some((problem) => formatProblem(problem).includes(secret.slice(0, 12))));
});

test('deep nesting is refused, not a crash', (t) => {
  const result = parseDomainDocument('f.yaml', '['.repeat(20_000), parsePublicKey);
  t.is(result.kind, 'bad');
  if (result.kind === 'bad') t.true(result.problems.length <= 20);
});

test('rules at the bounds of actions, resources and patterns are valid', (t) => {
  const resources = [`${'b'.repeat(1023)}*`, 'b*'.repeat(64)];
  for (const resource of resources) {
    const text = rule(`{ action: ${'a'.repeat(256)}, resource: "${resource}", role: r }`);
    const parsed = parseDomainDocument('c.yaml', text, parsePublicKey);
    if (parsed.kind === 'bad') return t.fail(resource);
    // What is accepted here is valid in the bundle, where it has its domain in front.
    t.notThrows(() => compileDomain('c', parsed.document.content.policies));
  }
});

test('a mapping of many names costs no square of them', (t) => {
  const costOf = (count: number) => {
    const text = `domain: c\nroles:\n${Array.from({ length: count }, (_, index) => `  r${index}: {}\n`).join('')}`;
    const before = process.cpuUsage();
    t.is(parseYaml('c.yaml', text).kind, 'ok');
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  // The least of several, as other work on the machine only adds.
  const least = (count: number) => Math.min(...Array.from({ length: 3 }, () => costOf(count)));
  const few = least(3000);
  const many = least(24_000);
  t.log(`processor time: ${Math.round(few / 1000)} ms for 3,000 names, ${Math.round(many / 1000)} ms for 24,000`);
  t.true(many < few * 14, 'eight times as many, not sixty-four times the work');
});
