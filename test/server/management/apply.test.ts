import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import {
  formatProblem,
  InvalidDocumentError,
  InvalidRequestError,
  NotFoundError,
  UnknownDomainError,
} from '@signet/server/errors';
import { type ApplyOptions, applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { registerServiceKey } from '@signet/server/management/service-keys';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { isNoName } from '#support/invalid-name';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'local:jane', reason: 'try' };
const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

type Files = Readonly<Record<string, string>>;

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  let count = 0;
  const write = (files: Files) => {
    const documents = join(folder, `documents-${count++}`);
    mkdirSync(documents);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(documents, name), text);
    return documents;
  };
  const apply = async (files: Files, options: Omit<ApplyOptions, 'now'> = {}) =>
    applyDocuments(store, readDocumentFolder(write(files)), by, { now: 0, ...options });
  return { store, apply, write };
}

const catalog = `domain: catalog
roles:
  reader: { members: [media.player] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
services:
  api: {}
`;
const media = 'domain: media\nservices:\n  player: {}\n  studio: {}\n';

async function refused(t: ExecutionContext, store: Store, work: Promise<unknown>): Promise<readonly string[]> {
  const before = await contentsOf(store);
  const error = await t.throwsAsync(work, { instanceOf: InvalidDocumentError });
  t.deepEqual(await contentsOf(store), before);
  return error.problems.map((problem) => formatProblem(problem).replace(/^.*\//, ''));
}

test('created, unchanged, changed; only changed policies raise the version', async (t) => {
  const { store, apply } = await openWorld(t);
  t.deepEqual(await apply({ 'catalog.yaml': catalog, 'media.yaml': media }), {
    domains: [
      { name: parseDomainName('catalog'), outcome: 'created', version: 1 },
      { name: parseDomainName('media'), outcome: 'created', version: 1 },
    ],
    casesPassed: 0,
    warnings: [],
  });
  const again = await apply({ 'catalog.yaml': catalog, 'media.yaml': media });
  t.deepEqual(
    again.domains.map((domain) => domain.outcome),
    ['unchanged', 'unchanged'],
  );
  t.like(await store.state(), { epoch: 1, counter: 1 });
  const changed = await apply({ 'catalog.yaml': catalog.replace('[media.player]', '[]'), 'media.yaml': media });
  t.deepEqual(
    changed.domains.map(({ outcome, version }) => [outcome, version]),
    [
      ['changed', 1],
      ['unchanged', 1],
    ],
  );
  const policies = await apply({ 'catalog.yaml': catalog.replaceAll('read', 'write'), 'media.yaml': media });
  t.deepEqual(
    policies.domains.map(({ outcome, version }) => [outcome, version]),
    [
      ['changed', 2],
      ['unchanged', 1],
    ],
  );
  t.like((await store.audit({ limit: 1 }))[0], { ...by, action: 'change', subject: 'catalog', version: 2 });
});

test('what a document leaves out is removed, domains without a document stay', async (t) => {
  const { store, apply } = await openWorld(t);
  await apply({ 'catalog.yaml': catalog, 'media.yaml': media });
  await apply({ 'catalog.yaml': 'domain: catalog\n' });
  const domain = await store.domain(parseDomainName('catalog'));
  t.like(domain, { roles: [], policies: [], services: [], groups: [], policyVersion: 2 });
  t.is((await store.domain(parseDomainName('media')))?.services.length, 2);
});

test('keys that were registered stay when the document says nothing of keys, and go when it does', async (t) => {
  const { store, apply } = await openWorld(t);
  await apply({ 'catalog.yaml': catalog });
  const [domain, service, id] = [parseDomainName('catalog'), parseServiceName('api'), parseKeyId('v1')];
  await registerServiceKey(store, { domain, service, keyId: id, pem }, by);
  const keys = async () => (await store.domain(domain))?.services[0]?.publicKeys;
  t.deepEqual(await keys(), [{ id, pem }]);
  const again = await apply({ 'catalog.yaml': catalog });
  t.is(again.domains[0]?.outcome, 'unchanged');
  t.deepEqual(await keys(), [{ id, pem }]);
  await apply({ 'catalog.yaml': catalog.replace('api: {}', 'api: { publicKeys: {} }') });
  t.deepEqual(await keys(), []);
});

test('an endpoint that was registered stays when the document names none, and gives way to one that it names', async (t) => {
  const { store, apply } = await openWorld(t);
  const named = (url: string) => catalog.replace('api: {}', `api: { endpoint: '${url}' }`);
  const endpoint = async () => (await store.domain(parseDomainName('catalog')))?.services[0]?.endpoint;
  await apply({ 'catalog.yaml': named('https://registered.example/') });
  const again = await apply({ 'catalog.yaml': catalog });
  t.deepEqual([again.domains[0]?.outcome, await endpoint()], ['unchanged', 'https://registered.example/']);
  await apply({ 'catalog.yaml': named('https://document.example/') });
  t.is(await endpoint(), 'https://document.example/');
});

test('two ids of keys that differ only in case are refused', async (t) => {
  const { apply } = await openWorld(t);
  const keys = (ids: readonly string[]) =>
    `{ publicKeys: { ${ids.map((each) => `${each}: ${JSON.stringify(pem)}`).join(', ')} } }`;
  const problem = await t.throwsAsync(
    apply({ 'catalog.yaml': catalog.replace('api: {}', `api: ${keys(['V1', 'v1'])}`) }),
  );
  t.regex(String(problem?.message), /services\.api\.publicKeys\.v1: differs only in case from `V1`/);
});

test('registering a key: replaced by its id; refused without domain, service or key', async (t) => {
  const { store, apply } = await openWorld(t);
  await apply({ 'catalog.yaml': catalog });
  const [domain, service, id] = [parseDomainName('catalog'), parseServiceName('api'), parseKeyId('v1')];
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  await registerServiceKey(store, { domain, service, keyId: id, pem: other }, by);
  await registerServiceKey(store, { domain, service, keyId: id, pem }, by);
  t.deepEqual((await store.domain(domain))?.services[0]?.publicKeys, [{ id, pem }]);
  t.is((await store.domain(domain))?.policyVersion, 1);
  await t.throwsAsync(registerServiceKey(store, { domain: parseDomainName('x'), service, keyId: id, pem }, by), {
    instanceOf: UnknownDomainError,
  });
  await t.throwsAsync(registerServiceKey(store, { domain, service: parseServiceName('x'), keyId: id, pem }, by), {
    instanceOf: NotFoundError,
    message: 'service `catalog.x` does not exist',
  });
  await t.throwsAsync(registerServiceKey(store, { domain, service, keyId: id, pem: 'nonsense' }, by), {
    instanceOf: InvalidRequestError,
  });
});

test('one bad file, and nothing of the others is applied', async (t) => {
  const { store, apply } = await openWorld(t);
  const files = { 'catalog.yaml': catalog, 'b.yaml': 'domain: b\nrolls: {}\n', 'c.yaml': 'domain: a b\n' };
  t.deepEqual(
    (await refused(t, store, apply(files))).map((line) => line.replace(/;.*/, '')),
    ['b.yaml:2:1: rolls: is not known here', `c.yaml:1:9: domain: ${isNoName('DomainName')}`],
  );
});

test('the same domain in two files', async (t) => {
  const { store, apply } = await openWorld(t);
  const [line] = await refused(t, store, apply({ 'media.yaml': media, 'media.yml': 'domain: MEDIA\n' }));
  t.is(line, 'media.yaml already');
});

test('groups and trusted domains must exist, in the documents or in the store', async (t) => {
  const { store, apply } = await openWorld(t);
  const text = 'domain: d\nroles:\n  a:\n    members:\n      - g.h\n      - x:group.staff\n  b: { trust: y }\n';
  t.deepEqual(await refused(t, store, apply({ 'd.yaml': text })), [
    'd.yaml:6:9: roles.a.members[1]: group `x:group.staff` does not exist',
    'd.yaml:7:15: roles.b.trust: domain `y` does not exist',
  ]);
  await apply({ 'x.yaml': 'domain: x\ngroups:\n  staff: { members: [media.player] }\n' });
  const summary = await apply({ 'd.yaml': text, 'y.yaml': 'domain: y\n' });
  t.is(summary.domains.length, 2);
});

test('a service that does not exist is only warned of', async (t) => {
  const { apply } = await openWorld(t);
  await apply({ 'media.yaml': media });
  const text =
    'domain: d\nroles:\n  A:\n    members:\n      - media.*\n      - user.jane\n      - MEDIA.plaier\n      - unknown.service\n';
  const { warnings } = await apply({ 'd.yaml': text }, { allowWildcard: true });
  t.deepEqual(
    warnings.map((problem) => formatProblem(problem).replace(/^.*\//, '')),
    [
      'd.yaml:7:9: roles.A.members[2]: domain `media` has no service `media.plaier`: did you mean `media.player`?',
      'd.yaml:8:9: roles.A.members[3]: domain `unknown` does not exist',
    ],
  );
});

test('a service that can have no DNS name is only warned of, once', async (t) => {
  const { apply } = await openWorld(t);
  const text = 'domain: d\nservices:\n  api: {}\n  my_api: {}\n';
  const { warnings } = await apply({ 'd.yaml': text });
  t.deepEqual(
    warnings.map((problem) => formatProblem(problem).replace(/^.*\//, '')),
    [
      'd.yaml:4:3: services.my_api: service `d.my_api` gets no DNS name of its own in certificates: a label has letters, digits and `-` inside',
    ],
  );
  t.deepEqual((await apply({ 'd.yaml': `${text}  web: {}\n` })).warnings, []);
});

test('a failing case stops everything, and says why', async (t) => {
  const { store, apply } = await openWorld(t);
  const cases = `
- { principal: media.player, action: read, resource: movie, expect: allow }
- { note: no writing, principal: media.player, action: write, resource: movie, expect: allow }
- { principal: media.studio, action: read, resource: movie, expect: ALLOW }
- { principal: media.player, action: read, resource: "catalog:movie", expect: deny }
- { roles: [reader], action: read, resource: movie, expect: DENY }
- { principal: media.player, domain: nowhere, action: read, resource: movie, expect: deny }
- { principal: media.player, domain: nowhere, action: read, resource: movie, expect: DENY_DOMAIN_NOT_FOUND }
- { principal: media.player, action: read, resource: "other:movie", expect: deny }
`;
  const files = { 'catalog.yaml': catalog, 'media.yaml': media, 'catalog.cases.yaml': cases };
  const rule = 'policy movies: ALLOW read on catalog:movie for catalog:role.reader';
  t.deepEqual(await refused(t, store, apply(files)), [
    'catalog.cases.yaml:3:3: [1]: media.player write catalog:movie: expected allow, decided DENY_NO_MATCH (roles reader; no assertion matches)',
    'catalog.cases.yaml:4:3: [2]: media.studio read catalog:movie: expected ALLOW, decided DENY_NO_MATCH (no role; no assertion matches)',
    `catalog.cases.yaml:5:3: [3]: media.player read catalog:movie: expected deny, decided ALLOW (roles reader; ${rule})`,
    `catalog.cases.yaml:6:3: [4]: [reader] read catalog:movie: expected DENY, decided ALLOW (roles reader; ${rule})`,
    'catalog.cases.yaml:7:3: [5]: media.player read nowhere:movie: expected deny, decided DENY_DOMAIN_NOT_FOUND (domain `nowhere` does not exist or is disabled)',
    'catalog.cases.yaml:9:3: [7]: media.player read other:movie: expected deny, decided DENY_DOMAIN_MISMATCH (roles reader; no assertion matches)',
  ]);
});

test('cases see the result: stored groups and trusted domains, and the time that they name', async (t) => {
  const { apply } = await openWorld(t);
  await apply({
    'p.yaml':
      'domain: p\nroles: { staff: { members: [a.b] } }\npolicies:\n  x:\n    - { action: assume_role, resource: "d:role.viewer", role: staff }\n',
    'g.yaml': 'domain: g\ngroups:\n  people: { members: [{ name: c.d, expires: "2030-01-01T00:00:00Z" }] }\n',
  });
  const summary = await apply({
    'd.yaml':
      'domain: d\nroles:\n  viewer: { trust: p }\n  reader: { members: ["g:group.people"] }\npolicies:\n  x:\n    - { action: read, resource: r, role: "*" }\n',
    'd.cases.yaml': `
- { principal: a.b, action: read, resource: r, expect: allow }
- { principal: c.d, action: read, resource: r, expect: allow, at: "2029-12-31T23:59:59.999Z" }
- { principal: c.d, action: read, resource: r, expect: deny, at: "2030-01-01T00:00:00Z" }
- { principal: e.f, action: read, resource: r, expect: deny }
`,
  });
  t.is(summary.casesPassed, 4);
});

const badCases: readonly (readonly [note: string, text: string, said: string])[] = [
  ['no subject', '- { action: a, resource: b, expect: allow }', '1:3: [0]: needs either `principal` or `roles`'],
  [
    'two subjects',
    '- { principal: a.b, roles: [r], action: a, resource: b, expect: allow }',
    '1:3: [0]: needs either `principal` or `roles`',
  ],
  ['an unknown key', '- { who: a.b, action: a, resource: b, expect: allow }', '1:5: [0].who: is not known here'],
  [
    'a role name',
    '- { roles: ["*"], action: a, resource: b, expect: allow }',
    `1:13: [0].roles[0]: ${isNoName('RoleName')}`,
  ],
  [
    'a principal',
    '- { principal: "a b", action: a, resource: b, expect: allow }',
    `1:16: [0].principal: ${isNoName('PrincipalName')}`,
  ],
  [
    'an action',
    '- { principal: a.b, action: "a*", resource: b, expect: allow }',
    `1:29: [0].action: ${isNoName('ActionName')}`,
  ],
  [
    'a time',
    '- { principal: a.b, action: a, resource: b, expect: allow, at: now }',
    '1:64: [0].at: must be a UTC time such as `2027-01-01T00:00:00Z`',
  ],
  ['no list', 'principal: a.b', '1:1: must be an array'],
];

for (const [note, text, said] of badCases) {
  test(`refused case: ${note}`, async (t) => {
    const { store, apply } = await openWorld(t);
    const lines = await refused(t, store, apply({ 'catalog.yaml': catalog, 'catalog.cases.yaml': text }));
    t.deepEqual(
      lines.map((line) => line.replace(/; allowed.*/, '')),
      [`catalog.cases.yaml:${said}`],
    );
  });
}

test('an expectation that does not exist is refused with those that do', async (t) => {
  const { store, apply } = await openWorld(t);
  const text = '- { principal: a.b, action: a, resource: b, expect: maybe }';
  const [line = ''] = await refused(t, store, apply({ 'catalog.yaml': catalog, 'catalog.cases.yaml': text }));
  t.true(line.startsWith('catalog.cases.yaml:1:53: [0].expect: must be `allow` or `deny` or `ALLOW`'), line);
});

test('a folder without documents, and none at all', (t) => {
  const folder = temporaryFolder(t);
  t.throws(() => readDocumentFolder(folder), { instanceOf: InvalidRequestError, message: /holds no documents$/ });
  t.throws(() => readDocumentFolder(join(folder, 'x')), {
    instanceOf: InvalidRequestError,
    message: /cannot be read$/,
  });
});

test('the sample policies hold what they promise', async (t) => {
  const { store } = await openWorld(t);
  const samples = join(import.meta.dirname, '..', '..', '..', 'policies');
  const { domains, casesPassed, warnings } = await applyDocuments(store, readDocumentFolder(samples), by, {
    now: systemClock.now(),
  });
  t.deepEqual(
    domains.map((domain) => String(domain.name)),
    ['catalog', 'media', 'sys.auth'],
  );
  t.true(casesPassed > 20);
  t.deepEqual(warnings, []);
});

test('a domain that asks for a reason is not changed without one', async (t) => {
  const { store, write } = await openWorld(t);
  const read = (more: string) =>
    readDocumentFolder(write({ 'catalog.yaml': `domain: catalog\nrequireReason: true\n${more}` }));
  await applyDocuments(store, read(''), { actor: 'a' }, { now: 0 });
  t.is((await applyDocuments(store, read(''), { actor: 'a' }, { now: 0 })).domains[0]?.outcome, 'unchanged');
  await t.throwsAsync(applyDocuments(store, read('enabled: false\n'), { actor: 'a' }, { now: 0 }), {
    instanceOf: InvalidRequestError,
    message: 'domain `catalog` asks for a reason: reason is missing',
  });
  const applied = await applyDocuments(store, read('enabled: false\n'), { actor: 'a', reason: 'sold' }, { now: 0 });
  t.is(applied.domains[0]?.outcome, 'changed');
});
