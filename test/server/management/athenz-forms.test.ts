import { InvalidRequestError } from '@signet/server/errors';
import { formatNotice } from '@signet/server/management/athenz/findings';
import { importDomain } from '@signet/server/management/athenz/import-domain';
import { documentOf } from '@signet/server/management/export-domain';
import test from 'ava';
import { stringify } from 'yaml';

/* Outputs of `zms-cli`: read whole, or refused with the form that they have. */

const policy = {
  name: 'films:policy.watching',
  version: '0',
  active: true,
  assertions: [
    { effect: 'ALLOW', action: 'watch', role: 'films:role.viewer', resource: 'films:film.*', id: 7 },
    { effect: 'DENY', action: 'watch', role: 'films:role.viewer', resource: 'films:film.secret', caseSensitive: true },
    {
      effect: 'ALLOW',
      action: 'edit',
      role: 'films:role.admin',
      resource: 'films:film.a',
      conditions: {
        conditionsList: [{ id: 1, conditionsMap: { scopeOnPrem: { operator: 'EQUALS', value: 'true' } } }],
      },
    },
  ],
};
const films = {
  name: 'films',
  enabled: true,
  auditEnabled: true,
  tokenExpiryMins: 60,
  roleCertExpiryMins: 1440,
  tags: { roleMembers: { list: ['media'] } },
  roles: [
    { name: 'films:role.admin', roleMembers: [{ memberName: 'user.jane', principalType: 1 }] },
    {
      name: 'films:role.viewer',
      tokenExpiryMins: 10,
      roleMembers: [
        { memberName: 'media.player', approved: true },
        { memberName: 'media.guest', expiration: '2026-06-01T00:00:00Z', reviewReminder: '2026-05-01T00:00:00Z' },
        { memberName: 'media.old', systemDisabled: 1 },
        { memberName: 'films:group.critics' },
      ],
    },
    { name: 'films:role.lent', trust: 'lenders' },
  ],
  groups: [{ name: 'films:group.critics', groupMembers: [{ memberName: 'user.joe' }] }],
  policies: { contents: { domain: 'films', policies: [policy] }, signature: 'x', keyId: '0' },
  services: [{ name: 'films.api', providerEndpoint: 'https://films.example/confirm', publicKeys: [] }],
};

/** A value as Go's YAML library writes the structures of ZMS's client. */
function asGo(value: unknown, hasFreeNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => asGo(item));
  if (typeof value !== 'object' || value === null) return value;
  const optional = hasFreeNames || 'list' in value ? {} : { description: '', modified: null };
  return {
    ...optional,
    ...Object.fromEntries(
      Object.entries(value).map(([name, content]) => {
        const number = { ALLOW: 1, DENY: 2, EQUALS: 1 }[String(content)];
        const isFree = name === 'tags' || name === 'conditionsMap';
        return [hasFreeNames ? name : name.toLowerCase(), number ?? asGo(content, isFree)];
      }),
    ),
  };
}

const read = (text: string) => {
  const { content, notices } = importDomain('export', text);
  return { document: documentOf(content), notices: notices.map(formatNotice) };
};
const whole = read(JSON.stringify(films));

const forms: [note: string, text: string][] = [
  ['export-domain as YAML', stringify(asGo(films))],
  ['export-domain as YAML with names of JSON', stringify(films)],
  ['show-domain as JSON', JSON.stringify({ domains: [{ domain: films, signature: 'x', keyId: '0' }] })],
  ['show-domain as YAML', stringify(asGo({ domains: [{ domain: films, signature: 'x', keyId: '0' }] }))],
  ['a signed domain', JSON.stringify({ domain: films, signature: 'x', keyId: '0' })],
];
for (const [note, text] of forms) {
  test(`is read whole: ${note}`, (t) => {
    t.like(whole.document, { requireReason: true, roles: { admin: { members: ['user.jane'] } } });
    t.deepEqual(read(text), whole);
  });
}

const again = 'export the domain with `zms-cli -o json export-domain DOMAIN FILE`';
const not = (what: string) => `the file is not an export of a domain but ${what}: ${again}`;
const json = (value: unknown) => JSON.stringify(value);
const [admin] = films.roles;
const { roles: _, ...attributes } = films;
const wrong: [note: string, text: string, message: string][] = [
  ['list-domain', json({ names: ['films', 'media'] }), not('a list of names')],
  ['list-domain in plain', 'domains:\n    - films\n', not('a list of names')],
  ['list-domain of none', json({ domains: [] }), not('a list of names')],
  ['two domains', json({ domains: [{ domain: films }, { domain: films }] }), not('an output of 2 domains')],
  [
    'get-signed-domains in plain',
    'ETag: x\ndomain: \n    name: films\n',
    not('the plain output of `zms-cli get-signed-domains`'),
  ],
  ['a message', '[domain created: films]\n', not('a message of zms-cli ([domain created: films])')],
  ['show-role', json(admin), not('a role alone')],
  ['show-role as YAML', stringify(asGo(admin)), not('a role alone')],
  ['show-role in plain', 'role:\n    - name: films:role.admin\n', not('a role alone')],
  ['show-roles', json({ list: films.roles }), not('a list of parts of a domain')],
  ['show-group', json(films.groups[0]), not('a group alone')],
  ['show-policy', json(policy), not('a policy alone')],
  ['show-policy as YAML', stringify(asGo(policy)), not('a policy alone')],
  ['show-service', json(films.services[0]), not('a service alone')],
  ['a trusted role', json(films.roles[2]), not('a role alone')],
  ['the attributes', json(attributes), not('the attributes of a domain, without its roles')],
  ['the attributes as YAML', stringify(asGo(attributes)), not('the attributes of a domain, without its roles')],
  ['a list', json([films]), not('a list')],
  ['a text', 'films', not('no object')],
  ['JSON with names in lower case', json(asGo(films)), `\`auditenabled\`: must be \`auditEnabled\`: ${again}`],
  [
    'YAML with a name twice',
    stringify({ ...films, roles: [{ ...admin, rolemembers: [] }] }),
    `\`roleMembers\` is there twice: ${again}`,
  ],
  ['a name in other letters', stringify({ ...films, Groups: [] }), `\`Groups\`: must be \`groups\`: ${again}`],
];
for (const [note, text, message] of wrong) {
  test(`is refused in one line: ${note}`, (t) => {
    t.throws(() => read(text), { instanceOf: InvalidRequestError, message });
    t.false(message.includes('\n'));
  });
}

for (const effect of [0, 3, -1, 1.5]) {
  test(`an effect of Go that there is not is refused: ${effect}`, (t) => {
    const [assertion] = policy.assertions;
    const policies = { contents: { policies: [{ ...policy, assertions: [{ ...assertion, effect }] }] } };
    t.throws(() => read(stringify(asGo({ ...films, policies }))), {
      instanceOf: InvalidRequestError,
      message: /^policies\.contents\.policies\[0\]\.assertions\[0\]\.effect: /,
    });
  });
}
