import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem, InvalidDocumentError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { describeImpact } from '@signet/server/management/describe-impact';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { exportDomain } from '@signet/server/management/export-domain';
import { planDocuments } from '@signet/server/management/plan-documents';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { managementWorld, send } from '#support/management-world';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

/* Rules that count on some hosts only, and rules that keep their case: through documents, cases, plans and the API. */

const now = 1_700_000_000_000;

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  let count = 0;
  const documents = (files: Readonly<Record<string, string>>) => {
    const at = join(folder, `documents-${count++}`);
    mkdirSync(at);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(at, `${name}.yaml`), text);
    return readDocumentFolder(at);
  };
  return { store, documents };
}

const document = (rules: string) => `domain: d
roles:
  r: { members: [x.a] }
policies:
  p:
    - ${rules.trim().split('\n').join('\n    - ')}
`;

const everything = `domain: d
roles:
  r: { members: [x.a] }
policies:
  p:
    - { action: Read, resource: Movie, role: r, caseSensitive: true }
    - { action: read, resource: "D:Movie", role: R, conditions: [{ instances: "H1,h2" }, { scopeall: "*", instances: h3 }] }
    - { effect: deny, action: write, resource: x, role: r, conditions: [{ enforcementstate: enforce }], caseSensitive: true }
    - action: list
      resource: y
      role: r
      conditions:
        - { instances: { operator: IN_CIDR, value: "10.0.0.0/8,2001:DB8::/32" }, scopeall: { operator: STARTS_WITH, value: Web- } }
        - { instances: { operator: NOT_EQUALS, value: h1 }, scopeaws: { operator: EQUALS, value: "*" } }
  q:
    caseSensitive: true
    active: "1"
    versions:
      "1": [{ action: Read, resource: Movie, role: r }]
      "2": [{ action: Read, resource: "D:Movie", role: r }]
`;

test('what documents say of conditions and case is stored, compiled, and exported without a loss', async (t) => {
  const { store, documents } = await openWorld(t);
  await applyDocuments(store, documents({ d: everything }), { actor: 'a' }, { now });
  const { domains } = await contentsOf(store);
  const rules = domains[0]?.policies.map(({ name, version, caseSensitive, assertions }) => ({
    name,
    version,
    caseSensitive,
    rules: assertions.map(({ id: _, ...rule }) => rule),
  }));
  const rule = { effect: 'ALLOW', role: 'd:role.r', caseSensitive: false };
  const equals = (value: string) => ({ operator: 'EQUALS', value });
  t.deepEqual(rules, [
    {
      name: 'p',
      version: '0',
      caseSensitive: false,
      rules: [
        { ...rule, action: 'Read', resource: 'd:Movie', caseSensitive: true },
        {
          ...rule,
          action: 'read',
          resource: 'd:movie',
          conditions: {
            conditionsList: [
              { conditionsMap: { instances: equals('H1,h2') } },
              { conditionsMap: { instances: equals('h3'), scopeall: equals('*') } },
            ],
          },
        },
        {
          ...rule,
          effect: 'DENY',
          action: 'write',
          resource: 'd:x',
          caseSensitive: true,
          conditions: { conditionsList: [{ conditionsMap: { enforcementstate: equals('enforce') } }] },
        },
        {
          ...rule,
          action: 'list',
          resource: 'd:y',
          conditions: {
            conditionsList: [
              {
                conditionsMap: {
                  instances: { operator: 'IN_CIDR', value: '10.0.0.0/8,2001:DB8::/32' },
                  scopeall: { operator: 'STARTS_WITH', value: 'Web-' },
                },
              },
              { conditionsMap: { instances: { operator: 'NOT_EQUALS', value: 'h1' }, scopeaws: equals('*') } },
            ],
          },
        },
      ],
    },
    { name: 'q', version: '1', caseSensitive: true, rules: [{ ...rule, action: 'Read', resource: 'd:Movie' }] },
    { name: 'q', version: '2', caseSensitive: true, rules: [{ ...rule, action: 'Read', resource: 'd:Movie' }] },
  ]);
  const again = documents(Object.fromEntries(domains.map((domain) => [domain.name, exportDomain(domain)])));
  t.deepEqual((await planDocuments(store, again, now)).changes, []);
});

const refused: readonly (readonly [note: string, rule: string, problem: string])[] = [
  [
    'an unknown key',
    '{ action: a, resource: b, role: r, conditions: [{ host: h }] }',
    'd.yaml:6:57: policies.p[0].conditions[0].host: is not known here; allowed: `enforcementstate`, `instances`, `scopeall`, `scopeaws`, `scopeazure`, `scopegcp`, `scopeonprem`',
  ],
  [
    'no set',
    '{ action: a, resource: b, role: r, conditions: [] }',
    'd.yaml:6:42: policies.p[0].conditions: must not be empty',
  ],
  [
    'an empty set, which would hold everywhere',
    '{ action: a, resource: b, role: r, conditions: [{}] }',
    'd.yaml:6:55: policies.p[0].conditions[0]: must have a condition',
  ],
  [
    'blanks',
    '{ action: a, resource: b, role: r, conditions: [{ instances: "a, b" }] }',
    'd.yaml:6:68: policies.p[0].conditions[0].instances: must be one value, or several with commas and no blanks between them',
  ],
  [
    'assume_role under a condition',
    '{ action: Assume_Role, resource: role.r, role: r, caseSensitive: true, conditions: [{ instances: a }] }',
    'd.yaml:6:78: policies.p[0].conditions: an assertion for `assume_role` cannot have any: the server decides it, and is not a host',
  ],
];
const withOperator = (operator: string, value: string) =>
  `{ action: a, resource: b, role: r, conditions: [{ instances: { operator: ${operator}, value: "${value}" } }] }`;
const at = (field: string, column: number) => `d.yaml:6:${column}: policies.p[0].conditions[0].instances.${field}: `;
const operatorsRefused: typeof refused = [
  [
    'an operator that is not known',
    withOperator('SOUNDS_LIKE', 'h'),
    `${at('operator', 80)}must be \`EQUALS\` or \`NOT_EQUALS\` or \`STARTS_WITH\` or \`IN_CIDR\``,
  ],
  [
    'any value but any',
    withOperator('NOT_EQUALS', 'h1,*'),
    `${at('value', 99)}\`*\` must not be \`*\`: the condition would never hold`,
  ],
  [
    'a pattern for a prefix',
    withOperator('STARTS_WITH', 'web*'),
    `${at('value', 100)}\`web*\` must not contain \`*\`: any suffix already matches`,
  ],
  [
    'an empty prefix',
    withOperator('STARTS_WITH', ''),
    `${at('value', 100)}must be one value, or several with commas and no blanks between them`,
  ],
  [
    'a prefix length out of range',
    withOperator('IN_CIDR', '10.0.0.0/8,1.2.3.4/33'),
    `${at('value', 96)}\`1.2.3.4/33\` must have a prefix length of at most 32`,
  ],
  [
    'bits beyond the prefix length',
    withOperator('IN_CIDR', '10.0.0.1/8'),
    `${at('value', 96)}\`10.0.0.1/8\` has address bits that are set beyond its prefix length`,
  ],
  [
    'a zone',
    withOperator('IN_CIDR', 'fe80::%eth0/64'),
    `${at('value', 96)}\`fe80::%eth0/64\` must be a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32`,
  ],
];
for (const [note, rule, problem] of [...refused, ...operatorsRefused]) {
  test(`refused: ${note}`, async (t) => {
    const { documents } = await openWorld(t);
    const error = t.throws(() => documents({ d: document(rule) }), { instanceOf: InvalidDocumentError });
    t.deepEqual(
      error.problems.map((one) => formatProblem(one).replace(/^.*\/(?=d\.yaml:)/, '')),
      [problem],
    );
  });
}

test('cases say what the host says of itself', async (t) => {
  const { store, documents } = await openWorld(t);
  const rules = `{ action: read, resource: b, role: r, conditions: [{ instances: "h1,h2" }] }
{ action: write, resource: b, role: r }
{ effect: deny, action: write, resource: b, role: r, conditions: [{ scopeall: bad }] }`;
  const cases = `- { principal: x.a, action: read, resource: b, expect: deny }
- { principal: x.a, action: read, resource: b, context: { instances: H2 }, expect: allow }
- { roles: [r], action: read, resource: b, context: { instances: h3 }, expect: deny }
- { roles: [r], action: read, resource: b, context: { instances: h1 }, expect: allow }
- { principal: x.a, action: write, resource: b, expect: DENY }
- { principal: x.a, action: write, resource: b, context: { scopeall: good }, expect: allow }
`;
  const summary = await applyDocuments(
    store,
    documents({ d: document(rules), 'd.cases': cases }),
    { actor: 'a' },
    { now },
  );
  t.is(summary.casesPassed, 6);
  const wrong = '- { principal: x.a, action: read, resource: b, context: { host: h1 }, expect: allow }\n';
  t.throws(() => documents({ 'd.cases': wrong }), {
    message: /:1:\d+: \[0\]\.context\.host: is not known here; allowed: `enforce/,
  });
});

test('the impact tells the hosts apart', async (t) => {
  const { store, documents } = await openWorld(t);
  await applyDocuments(
    store,
    documents({ d: document('{ action: read, resource: b, role: r }') }),
    { actor: 'a' },
    { now },
  );
  const rules = `{ action: read, resource: b, role: r }
{ effect: deny, action: read, resource: b, role: r, conditions: [{ instances: h1 }] }
{ action: list, resource: b, role: r, conditions: [{ instances: h2 }] }`;
  const plan = await planDocuments(store, documents({ d: document(rules) }), now);
  t.deepEqual(
    plan.impact?.map(({ change, action, contexts, example }) => [change, action.matching, contexts, example.context]),
    [
      ['loss', ['read'], [{ instances: null }, { instances: { is: 'h1' } }], {}],
      ['gain', ['list'], [{ instances: { is: 'h2' } }], { instances: 'h2' }],
    ],
  );
  t.deepEqual(
    plan.changes.map(({ name }) => name),
    [
      'p version 0',
      'p version 0: DENY read on d:b for d:role.r where instances is h1',
      'p version 0: ALLOW list on d:b for d:role.r where instances is h2',
    ],
  );
});

test('the impact tells hosts apart by every operator, and people can read it', async (t) => {
  const { store, documents } = await openWorld(t);
  await applyDocuments(
    store,
    documents({ d: document('{ action: read, resource: b, role: r }') }),
    { actor: 'a' },
    { now },
  );
  const rules = `{ action: read, resource: b, role: r }
{ effect: deny, action: read, resource: b, role: r, conditions: [{ instances: { operator: IN_CIDR, value: "10.0.0.0/8" } }] }
{ action: list, resource: b, role: r, conditions: [{ scopeall: { operator: STARTS_WITH, value: web- } }] }
{ action: put, resource: b, role: r, conditions: [{ scopeaws: { operator: NOT_EQUALS, value: "h1,h2" } }] }`;
  const plan = await planDocuments(store, documents({ d: document(rules) }), now);
  const shown = describeImpact(plan.impact).map((line) => line.replace(/^access: x.a: /, ''));
  t.deepEqual(shown, [
    'loses read on d:b where instances is not given or instances is not an IP address or instances is in 10.0.0.0/8 (e.g. x.a read d:b)',
    'gains put on d:b where scopeaws is none of h1, h2 (e.g. x.a put d:b with scopeaws=other)',
    'gains list on d:b where scopeall starts with web- (e.g. x.a list d:b with scopeall=web-)',
  ]);
  t.deepEqual(
    plan.changes.map(({ name }) => name.replace(/^p version 0:? ?/, '')),
    [
      '',
      'DENY read on d:b for d:role.r where instances is in 10.0.0.0/8',
      'ALLOW list on d:b for d:role.r where scopeall starts with web-',
      'ALLOW put on d:b for d:role.r where scopeaws is not h1,h2',
    ],
  );
});

test('the API takes and gives both, and a delegate cannot take a condition from a rule that manages', async (t) => {
  const { boss, guest, newDomain, end } = await managementWorld();
  t.teardown(end);
  const domain = await newDomain('films');
  await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.guest'] }));
  const conditions = [{ instances: 'h1', scopeall: { operator: 'IN_CIDR', value: '10.0.0.0/8' } }];
  const rule = { action: 'Read', resource: 'Film', role: 'keepers', conditions, caseSensitive: true };
  const put = await boss(`${domain}/policies/p`, send('PUT', [rule]));
  t.is(put.status, 201, put.text);
  const shown = (await boss(`${domain}/policies/p`)).body as { versions: Record<string, unknown[]> };
  t.like(shown.versions['0']?.[0], { ...rule, effect: 'ALLOW' });
  const managing = { action: 'manage_members', resource: 'role.*', role: 'keepers', conditions };
  const policies = { action: 'manage_policies', resource: 'policy.*', role: 'keepers' };
  await boss(`${domain}/policies/m`, send('PUT', [policies, managing]));
  const { conditions: _, ...bare } = managing;
  t.is((await guest(`${domain}/policies/m`, send('PUT', [policies, bare]))).status, 403);
  t.is((await guest(`${domain}/policies/p`, send('PUT', [{ ...rule, action: 'write' }]))).status, 200);
  const kept = await boss(
    `${domain}/policies/q`,
    send('PUT', { caseSensitive: true, active: '1', versions: { '1': [] } }),
  );
  t.like(kept.body, { caseSensitive: true });
  await boss(
    `${domain}/policies/q/versions/1/assertions`,
    send('POST', { action: 'Read', resource: 'A', role: 'keepers' }),
  );
  await boss(`${domain}/policies/q/versions/2`, send('PUT', [{ action: 'Read', resource: 'B', role: 'keepers' }]));
  const { versions } = (await boss(`${domain}/policies/q`)).body as { versions: Record<string, { action: string }[]> };
  t.deepEqual(
    Object.values(versions).map((rules) => rules.map(({ action }) => action)),
    [['Read'], ['Read']],
  );
});
