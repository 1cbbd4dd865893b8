import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName, parseKeyId } from '@signet/policy-engine/names';
import { type DocumentProblem, formatProblem, InvalidDocumentError } from '@signet/server/errors';
import { type ApplyOptions, applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { saveDomain } from '#support/save-domain';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

/* Documents obey the rules of the management API: each refusal at its place, said by the plan before apply says it. */

const by = { actor: 'local:jane' };
const now = 1_700_000_000_000;
type Files = Readonly<Record<string, string>>;
const quotas = { roles: 3, members: 4, groups: 2, policies: 2, assertions: 3, services: 2, keys: 2 };

type Rules = Omit<ApplyOptions, 'now'>;

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  let count = 0;
  const documents = (files: Files) => {
    const at = join(folder, `documents-${count++}`);
    mkdirSync(at);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(at, `${name}.yaml`), text);
    return readDocumentFolder(at);
  };
  const apply = async (files: Files, options: Rules = {}) =>
    applyDocuments(store, documents(files), by, { now, ...options });
  /** Refusal by both plan and apply, after a check that nothing changed. */
  const refused = async (files: Files, options: Rules = {}) => {
    const before = await contentsOf(store);
    const text = (problem: Parameters<typeof formatProblem>[0]) => formatProblem(problem).replace(/^.*\//, '');
    const planned = (await planDocuments(store, documents(files), now, options)).refusals.map(text);
    const error = await t.throwsAsync(apply(files, options), { instanceOf: InvalidDocumentError });
    t.deepEqual(await contentsOf(store), before);
    t.deepEqual(error.problems.map(text), planned);
    return planned;
  };
  return { store, apply, refused, documents };
}

interface Case {
  readonly note: string;
  readonly stored?: Files;
  readonly files: Files;
  readonly problems: readonly string[];
}

const admins = (text: string) => `domain: d\nroles:\n  Admin:\n    members: ${text}\n`;
const wildcard = (name: string) =>
  `\`${name}\` covers more than one principal: ask for it with allowWildcard=true (--allow-wildcard)`;
const gone = 'domain `d` would be left without an administrator';

const cases: readonly Case[] = [
  {
    note: 'wildcards of every form',
    files: {
      d: 'domain: d\nroles:\n  a:\n    members:\n      - Media.Play*\n      - user.jane\n      - { name: "*" }\n  b: { members: ["media.*"] }\n',
    },
    problems: [
      `d.yaml:5:9: roles.a.members[0]: ${wildcard('media.play*')}`,
      `d.yaml:7:9: roles.a.members[2]: ${wildcard('*')}`,
      `d.yaml:8:18: roles.b.members[0]: ${wildcard('media.*')}`,
    ],
  },
  {
    note: 'a wildcard in another role than before',
    stored: { d: 'domain: d\nroles:\n  a: { members: ["*"] }\n  b: {}\n' },
    files: { d: 'domain: d\nroles:\n  a: { members: ["*"] }\n  b: { members: ["*"] }\n' },
    problems: [`d.yaml:4:18: roles.b.members[0]: ${wildcard('*')}`],
  },
  {
    note: 'the last administrator removed',
    stored: { d: admins('[user.jane]') },
    files: { d: admins('[]') },
    problems: [`d.yaml:4:5: roles.Admin.members: ${gone}`],
  },
  {
    note: 'the role of the administrators removed',
    stored: { d: admins('[user.jane]') },
    files: { d: 'domain: d\n' },
    problems: [`d.yaml:1:1: roles: ${gone}`],
  },
  {
    note: 'the last administrator disabled',
    stored: { d: admins('[user.jane]') },
    files: { d: admins('[{ name: user.jane, disabled: true }]') },
    problems: [`d.yaml:4:5: roles.Admin.members: ${gone}`],
  },
  {
    note: 'the last administrator expired already',
    stored: { d: admins('[user.jane]') },
    files: { d: admins('[{ name: user.jane, expires: "2020-01-01T00:00:00Z" }]') },
    problems: [
      `d.yaml:4:5: roles.Admin.members: ${gone}`,
      'd.yaml:4:43: roles.Admin.members[0].expires: `user.jane` expired on 2020-01-01T00:00:00.000Z: give a later time, or remove the member',
    ],
  },
  {
    note: 'the last administrator given an end',
    stored: { d: admins('[user.jane, { name: user.joe, expires: "2099-01-01T00:00:00Z" }]') },
    files: { d: admins('[{ name: user.joe, expires: "2099-01-01T00:00:00Z" }]') },
    problems: [`d.yaml:4:5: roles.Admin.members: ${gone} once all of them have expired`],
  },
  {
    note: 'the group of the administrators emptied',
    stored: { d: `${admins('["d:group.g"]')}groups:\n  g: { members: [user.jane] }\n` },
    files: { d: `${admins('["d:group.g"]')}groups:\n  g: {}\n` },
    problems: [`d.yaml:4:5: roles.Admin.members: ${gone}`],
  },
  {
    note: 'the administrators left to another domain',
    stored: { d: admins('[user.jane]'), e: 'domain: e\n' },
    files: { d: 'domain: d\nroles: { admin: { trust: e } }\n' },
    problems: [`d.yaml:2:10: roles.admin.members: ${gone}`],
  },
  {
    note: 'the domain of the system disabled',
    stored: { 'sys.auth': 'domain: sys.auth\n' },
    files: { 'sys.auth': 'domain: sys.auth\nenabled: false\n' },
    problems: ['sys.auth.yaml:2:10: enabled: domain `sys.auth` cannot be disabled'],
  },
  {
    note: 'a domain whose services would be users',
    files: { user: 'domain: User\nservices: { jane: {} }\n' },
    problems: ['user.yaml:1:9: domain: domain `user` cannot be made: its services would have the names of users'],
  },
  {
    note: 'a domain below the prefix of users',
    files: { 'user.a': 'domain: user.a\n' },
    problems: ['user.a.yaml:1:9: domain: domain `user.a` cannot be made: members such as `user.*` mean users'],
  },
  {
    note: 'every quota passed, for a new domain',
    files: {
      d: `domain: d
roles: { a: { members: [x.a, x.b, x.c] }, b: {}, c: {}, e: {} }
groups: { a: { members: [x.a, x.b] }, b: {}, c: {} }
policies:
  p: [{ action: a, resource: r, role: a }, { action: b, resource: r, role: a }]
  q: [{ action: a, resource: r, role: a }, { action: b, resource: r, role: a }]
  r: []
services: { a: {}, b: {}, c: {} }
`,
    },
    problems: [
      'd.yaml:2:1: roles: domain `d` may have at most 3 roles',
      'd.yaml:2:1: roles: domain `d` may have at most 4 members',
      'd.yaml:3:1: groups: domain `d` may have at most 2 groups',
      'd.yaml:4:1: policies: domain `d` may have at most 2 policies',
      'd.yaml:4:1: policies: domain `d` may have at most 3 assertions',
      'd.yaml:8:1: services: domain `d` may have at most 2 services',
    ],
  },
  {
    note: 'services of a domain below `user`',
    files: { 'user.jane': 'domain: user.jane\nservices:\n  laptop: {}\n' },
    problems: [
      'user.jane.yaml:1:9: domain: domain `user.jane` cannot be made: members such as `user.*` mean users',
      'user.jane.yaml:3:3: services.laptop: domain `user.jane` cannot have services: members such as `user.*` mean users',
    ],
  },
  {
    note: 'a group taken from under a role that has it',
    stored: { d: 'domain: d\nroles: { a: { members: ["d:group.h"] } }\ngroups:\n  h: {}\n' },
    files: { d: 'domain: d\nroles: { a: { members: ["d:group.h"] } }\n' },
    problems: ['d.yaml:2:25: roles.a.members[0]: role `a` has the group `d:group.h`'],
  },
];

for (const { note, stored, files, problems } of cases) {
  test(`refused: ${note}`, async (t) => {
    const { apply, refused } = await openWorld(t);
    if (stored !== undefined) await apply(stored, { allowWildcard: true });
    t.deepEqual(await refused(files, { quotas }), problems);
  });
}

for (const enabled of [true, false]) {
  test(`a group goes from a role of another domain (${enabled ? 'enabled' : 'disabled'}), which is told`, async (t) => {
    const { apply, documents, store } = await openWorld(t);
    const d = 'domain: d\ngroups:\n  g: {}\n  h: {}\n';
    const e = `domain: e\nenabled: ${enabled}\nroles: { a: { members: ["d:group.h"] } }\n`;
    await apply({ d, e });
    const files = { d: 'domain: d\ngroups:\n  g: {}\n' };
    const message = 'group `d:group.h` is missing: domain `e` has a role with it, which would then grant nothing';
    const plan = await planDocuments(store, documents(files), now);
    t.deepEqual([plan.refusals, plan.warnings.map((warning) => warning.message)], [[], [message]]);
    const { warnings } = await apply(files);
    t.deepEqual(
      warnings.map((warning) => warning.message),
      [message],
    );
    t.deepEqual((await apply({ d, e })).warnings, []);
  });
}

test('what was there before may stay: wildcards, domains over their quota, no administrator', async (t) => {
  const { apply, store } = await openWorld(t);
  const roles = 'roles: { a: { members: ["*"] }, b: {}, c: {}, e: {}, admin: {} }';
  await apply({ d: `domain: d\n${roles}\n` }, { allowWildcard: true });
  const again = await apply({ d: `domain: d\ndescription: new\n${roles}\n` }, { quotas });
  t.is(again.domains[0]?.outcome, 'changed');
  const shrunk = await apply({ d: 'domain: d\nroles: { a: { members: ["*"] }, b: {}, c: {}, e: {} }\n' }, { quotas });
  t.is(shrunk.domains[0]?.outcome, 'changed');
  t.is((await store.domain(parseDomainName('d')))?.roles.length, 4);
});

test('the flag lets wildcards in', async (t) => {
  const { apply, documents, store } = await openWorld(t);
  const files = { d: 'domain: d\nroles: { a: { members: ["*"] } }\n' };
  const plan = await planDocuments(store, documents(files), now, { allowWildcard: true });
  t.deepEqual(plan.refusals, []);
  t.is((await apply(files, { allowWildcard: true })).domains[0]?.outcome, 'created');
});

test('a domain may have quotas of its own, which its document says', async (t) => {
  const { apply, refused, store } = await openWorld(t);
  const roles = 'roles: { a: {}, b: {}, c: {}, e: {} }\n';
  await apply({ d: `domain: d\nquotas: { roles: 4, services: 0 }\n${roles}` }, { quotas });
  t.deepEqual((await store.domain(parseDomainName('d')))?.quotas, { roles: 4, services: 0 });
  t.deepEqual(await refused({ d: `domain: d\nquotas: { services: 0 }\n${roles}services: { a: {} }\n` }, { quotas }), [
    'd.yaml:4:1: services: domain `d` may have at most 0 services',
  ]);
});

test('both sides of a use go in one step', async (t) => {
  const { apply } = await openWorld(t);
  await apply({ d: 'domain: d\ngroups:\n  h: {}\n', e: 'domain: e\nroles: { a: { members: ["d:group.h"] } }\n' });
  const summary = await apply({ d: 'domain: d\n', e: 'domain: e\nroles: { a: {} }\n' });
  t.deepEqual(
    summary.domains.map(({ outcome }) => outcome),
    ['changed', 'changed'],
  );
});

test('a reference that broke elsewhere is warned of, and no reason to refuse what has nothing to do with it', async (t) => {
  const { apply, store, refused } = await openWorld(t);
  const text = 'domain: e\nroles:\n  a: { trust: d }\n';
  await apply({ d: 'domain: d\n', e: text });
  // As a store that was written before such a domain could not be deleted.
  await store.change(by, (transaction) => transaction.deleteDomain(parseDomainName('d')));
  const { warnings } = await apply({ e: `${text}  b: {}\n` });
  t.deepEqual(
    warnings.map(({ line, column, message }) => [line, column, message]),
    [[3, 15, 'domain `d` does not exist']],
  );
  await t.throwsAsync(refused({ e: `${text}  b: { trust: d }\n` }), { instanceOf: InvalidDocumentError });
});

test('the plan says that a domain wants a reason', async (t) => {
  const { apply, store, documents } = await openWorld(t);
  await apply({ d: 'domain: d\nrequireReason: true\n' });
  const plan = await planDocuments(store, documents({ d: 'domain: d\n' }), now);
  t.deepEqual(
    plan.warnings.map(({ line, column, field, message }) => [line, column, field, message]),
    [[1, 9, 'domain', 'the domain asks for a reason: apply with --reason']],
  );
  await t.throwsAsync(apply({ d: 'domain: d\n' }), { message: /asks for a reason/ });
});

test('two domains with one form in DNS are refused, in one folder and beside the store', async (t) => {
  const { apply, refused } = await openWorld(t);
  const taken = (name: string, holder: string) =>
    `${name}.yaml:1:9: domain: domain \`${name}\` would have the DNS name \`pay-core\`, which domain \`${holder}\` has`;
  const both = { 'pay-core': 'domain: pay-core\n', 'pay.core': 'domain: pay.core\n' };
  t.deepEqual(await refused(both), [taken('pay.core', 'pay-core')]);
  await apply({ 'pay.core': 'domain: pay.core\n' });
  t.deepEqual(await refused(both), [taken('pay-core', 'pay.core')]);
});

test('a service that others list is removed with its memberships or not at all, and its name stays reserved', async (t) => {
  const { apply, refused, store } = await openWorld(t);
  const files = {
    d: 'domain: d\nservices: { api: {}, web: {} }\n',
    e: 'domain: e\nroles: { a: { members: [d.api] } }\n',
  };
  await apply(files);
  const without = { d: 'domain: d\nservices: { web: {} }\n' };
  t.deepEqual(await refused(without), [
    'd.yaml:2:1: services: service `d.api` is a member of `e:role.a`: remove it there, or with it by removeMemberships=true (--remove-memberships)',
  ]);
  await apply(without, { removeMemberships: true });
  t.deepEqual((await store.domain(parseDomainName('e')))?.roles[0]?.members, []);
  const [problem] = await refused({ d: files.d });
  t.regex(problem ?? '', /^d\.yaml:2:13: services\.api: `d\.api` was deleted at .* and its name is reserved until /);
  t.is((await apply({ d: files.d }, { reuseName: true })).domains[0]?.outcome, 'changed');
});

test('a service may leave in one step with all who list it', async (t) => {
  const { apply } = await openWorld(t);
  await apply({ d: 'domain: d\nservices: { api: {} }\n', e: 'domain: e\nroles: { a: { members: [d.api] } }\n' });
  const summary = await apply({ d: 'domain: d\n', e: 'domain: e\nroles: { a: {} }\n' });
  t.deepEqual(
    summary.domains.map(({ outcome }) => outcome),
    ['changed', 'changed'],
  );
});

test('a key of a delegate gains no authority by two documents that each give none', async (t) => {
  const { apply, refused, store } = await openWorld(t);
  await apply({ d: 'domain: d\nservices: { api: {} }\ngroups: { g: {} }\n', e: 'domain: e\nroles: { a: {} }\n' });
  const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  await store.change(by, async (transaction) => {
    const content = await transaction.domain(parseDomainName('d'));
    if (content === undefined) throw new Error('the domain is gone');
    const publicKeys = [{ id: parseKeyId('0'), pem, delegated: true as const }];
    await saveDomain(transaction, { ...content, services: content.services.map((one) => ({ ...one, publicKeys })) });
  });
  const joins = 'domain: d\nservices: { api: {} }\ngroups: { g: { members: [d.api] } }\n';
  const gives = [
    'domain: e',
    'roles: { a: { members: ["d:group.g"] } }',
    'policies: { p: [{ action: ssh_login, resource: ssh.root, role: a }] }',
    '',
  ].join('\n');
  const text = 'service `d.api` cannot gain authority while it has the public key `0` of a delegate';
  const problems = await refused({ d: joins, e: gives });
  t.deepEqual(
    problems.map((problem) => problem.slice(0, problem.indexOf(': an administrator'))),
    [`d.yaml:3:26: groups.g.members[0]: ${text}`, `e.yaml:2:25: roles.a.members[0]: ${text}`],
  );
  // The administrator who writes the documents may approve the key in the same step.
  const approved = joins.replace('api: {}', `api: { publicKeys: { "0": ${JSON.stringify(pem)} } }`);
  t.is((await apply({ d: approved, e: gives })).domains.length, 2);
});

test('what goes with its memberships is told with them, and by nobody that they stay', async (t) => {
  const { apply, documents, store } = await openWorld(t);
  const e = 'domain: e\nroles: { a: { members: ["d:group.g"] } }\n';
  const without = { d: 'domain: d\n' };
  await apply({ d: 'domain: d\ngroups: { g: {} }\n', e });
  const told = async (summary: Promise<{ readonly warnings: readonly DocumentProblem[] }>) =>
    (await summary).warnings.map(({ message }) => message);
  const stays = 'group `d:group.g` is missing: domain `e` has a role with it, which would then grant nothing';
  t.deepEqual(await told(planDocuments(store, documents(without), now)), [stays]);
  const goes = ['`d:group.g` is taken out of `e:role.a`'];
  t.deepEqual(await told(planDocuments(store, documents(without), now, { removeMemberships: true })), goes);
  t.deepEqual(await told(apply(without, { removeMemberships: true })), goes);
  t.deepEqual((await store.domain(parseDomainName('e')))?.roles[0]?.members, []);
});
