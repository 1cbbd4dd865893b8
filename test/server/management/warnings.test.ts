import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DocumentProblem, formatProblem, InvalidDocumentError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { checkDocuments } from '@signet/server/management/check-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { noStore } from '@signet/server/management/stored-world';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

/* Warnings beside those of the guide of mistakes, and silence. */

type Files = Readonly<Record<string, string>>;
const now = 1_767_225_600_000;
const context = { actor: 'local:jane' };

function folderOf(t: ExecutionContext, files: Files) {
  const folder = temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), text);
  return readDocumentFolder(folder);
}

const lines = (problems: readonly DocumentProblem[]) =>
  problems.map((problem) => formatProblem(problem).replace(/^.*\//, ''));

/** Warnings about documents without a store. */
function warned(t: ExecutionContext, files: Files) {
  const { documents, cases } = folderOf(t, files);
  return lines(checkDocuments(documents, noStore, now, cases).warnings);
}

async function openWorld(t: ExecutionContext) {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const apply = (files: Files, at: number, rules: object = {}) =>
    applyDocuments(store, folderOf(t, files), context, { now: at, ...rules });
  return { store, apply };
}

test('an assertion for `assume_role` with a pattern where only a name counts is warned of', (t) => {
  const assuming = (rule: string) =>
    warned(t, {
      d: `domain: d\nroles: { reader: { members: [user.ann] }, editor: { members: [user.eve] } }\npolicies:\n  p:\n    - { ${rule} }\n`,
    });
  const text = 'has no effect: `assume_role` requires the name of a role';
  t.deepEqual(assuming('action: assume_role, resource: "far:role.x", role: "read*"'), [
    `d.yaml:5:60: policies.p[0].role: ${text}, not a pattern`,
  ]);
  t.deepEqual(assuming('action: ASSUME_ROLE, resource: "role.*", role: reader'), [
    `d.yaml:5:40: policies.p[0].resource: ${text} of its own domain, not a pattern`,
  ]);
  t.deepEqual(assuming('action: assume_role, resource: role.editor, role: reader'), []);
  t.deepEqual(assuming('action: assume_role, resource: "far:role.*", role: reader'), []);
  t.deepEqual(assuming('effect: deny, action: assume_role, resource: "role.*", role: "*"'), []);
});

const expiring = (list: string) =>
  `domain: d\n${list}:\n  r: { members: [{ name: user.jane, expires: 2026-01-02T00:00:00Z }] }\n`;
const expired = '`user.jane` expired on 2026-01-02T00:00:00.000Z: give a later time, or remove the member';

for (const list of ['roles', 'groups']) {
  test(`a member of ${list} that expires stays, with a warning, and does not come back`, async (t) => {
    const { store, apply } = await openWorld(t);
    const problem = `d.yaml:3:46: ${list}.r.members[0].expires: ${expired}`;
    const later = now + 2 * 86_400_000;
    t.deepEqual((await apply({ d: expiring(list) }, now)).warnings, []);
    t.deepEqual(lines((await apply({ d: expiring(list) }, later)).warnings), [problem]);
    const before = await contentsOf(store);
    const strict = await t.throwsAsync(apply({ d: expiring(list) }, later, { strict: true }));
    t.deepEqual(lines((strict as InvalidDocumentError).problems), [problem]);
    t.deepEqual(await contentsOf(store), before);
    // A domain that is new was exported or imported.
    t.deepEqual(lines((await (await openWorld(t)).apply({ d: expiring(list) }, later)).warnings), [problem]);
    await apply({ d: 'domain: d\n' }, later);
    const fresh = await t.throwsAsync(apply({ d: expiring(list) }, later), { instanceOf: InvalidDocumentError });
    t.deepEqual(lines(fresh.problems), [problem]);
  });
}

test('an end that is moved within the past is refused', async (t) => {
  const { apply } = await openWorld(t);
  await apply({ d: expiring('roles') }, now);
  const moved = expiring('roles').replace('2026-01-02', '2026-01-01');
  await t.throwsAsync(apply({ d: moved }, now + 2 * 86_400_000), { message: /expired on 2026-01-01/ });
});

test('without a store, a member that has expired is a warning', (t) => {
  const text = expiring('roles').replace('2026', '2020');
  t.deepEqual(warned(t, { d: text }), [
    'd.yaml:3:46: roles.r.members[0].expires: `user.jane` expired on 2020-01-02T00:00:00.000Z: give a later time, or remove the member',
  ]);
});

test('without a store, another domain is only told where one of nearly its name is there', (t) => {
  const text = 'domain: films\nroles:\n  r: { members: [media.player, fims.api] }\nservices: { api: {} }\n';
  t.deepEqual(warned(t, { films: text }), [
    'films.yaml:3:32: roles.r.members[1]: domain `fims` does not exist: did you mean `films`?',
  ]);
});

test('a domain that does not exist is told once, and not of more than twenty', async (t) => {
  const { apply } = await openWorld(t);
  const members = Array.from({ length: 30 }, (_, index) => `x${index}.a, x${index}.b`).join(', ');
  const { warnings } = await apply({ d: `domain: d\nroles:\n  r: { members: [${members}] }\n` }, now);
  t.is(warnings.length, 20);
  t.is(new Set(warnings.map(({ message }) => message)).size, 20);
});

const allowed = (role: string, more = '') =>
  `domain: d\nroles:\n  r: ${role}\n${more}policies:\n  p: [{ action: a, resource: x, role: r }]\n`;

for (const [note, text] of [
  ['a member that does not expire yet', allowed('{ members: [{ name: user.a, expires: 2030-01-01T00:00:00Z }] }')],
  ['a group with a member', allowed('{ members: ["d:group.g"] }', 'groups: { g: { members: [user.a] } }\n')],
  ['everybody', allowed('{ members: ["*"] }')],
  ['a role that nothing is allowed', 'domain: d\nroles: { r: {} }\n'],
  [
    'a policy that is not active',
    'domain: d\nroles: { r: {} }\npolicies: { p: { active: null, versions: { "1": [{ action: a, resource: x, role: r }] } } }\n',
  ],
] as const) {
  test(`no warning: ${note}`, (t) => t.deepEqual(warned(t, { d: text }), []));
}

const nobody =
  'd.yaml:3:3: roles.r: the role has no members, so its assertions have no effect: add members, or remove it';

for (const [note, text] of [
  ['a disabled member', allowed('{ members: [{ name: user.a, disabled: true }] }')],
  ['an empty group', allowed('{ members: ["d:group.g"] }', 'groups: { g: {} }\n')],
] as const) {
  test(`nobody has a role: ${note}`, (t) => t.deepEqual(warned(t, { d: text }), [nobody]));
}

test('a role that its trusted domain gives to somebody', (t) => {
  const d = 'domain: d\nroles: { r: { trust: e } }\npolicies:\n  p: [{ action: a, resource: x, role: r }]\n';
  const e = (effect: string) =>
    `domain: e\nroles: { s: { members: [user.a] } }\npolicies:\n  p: [{ effect: ${effect}, action: assume_role, resource: "d:role.*", role: s }]\n`;
  t.deepEqual(warned(t, { d, e: e('allow') }), []);
  t.is(warned(t, { d, e: e('deny') }).length, 1);
});

const twoRules = (first: string, second: string) =>
  `domain: d\nroles: { r: { members: [user.a] }, s: { members: [user.a] } }\npolicies:\n  p:\n    - { ${first} }\n    - { ${second} }\n`;

for (const [note, first, second] of [
  [
    'a DENY under conditions',
    'action: a, resource: x, role: r',
    'effect: deny, action: a, resource: x, role: r, conditions: [{ instances: h }]',
  ],
  ['a DENY for another role', 'action: a, resource: x, role: r', 'effect: deny, action: a, resource: x, role: s'],
  ['a DENY of a part', 'action: a, resource: "x*", role: r', 'effect: deny, action: a, resource: "x?", role: r'],
  ['two DENY', 'effect: deny, action: a, resource: x, role: r', 'effect: deny, action: "*", resource: x, role: r'],
  [
    'the same under other conditions',
    'action: a, resource: x, role: r',
    'action: a, resource: x, role: r, conditions: [{ instances: h }]',
  ],
  [
    'a right on a kind of object',
    'action: manage_members, resource: "role.r", role: r',
    'action: manage_members, resource: "r*", role: r',
  ],
  [
    'an action that services have as well',
    'action: delete, resource: film, role: r',
    'action: update, resource: film, role: r',
  ],
] as const) {
  test(`no warning of assertions: ${note}`, (t) => t.deepEqual(warned(t, { d: twoRules(first, second) }), []));
}

const caseFiles = (text: string) => ({
  d: allowed('{ members: [user.jane, d.api] }', 'services: { api: {} }\n'),
  'd.cases': text,
});

for (const [note, subject, said] of [
  ['a service', 'principal: d.api', undefined],
  ['a user with a role', 'principal: user.jane', undefined],
  ['a user without any', 'principal: user.somebody', undefined],
  [
    'a user of nearly that name',
    'principal: user.jnae',
    '1:16: [0].principal: no role or group names `user.jnae`: did you mean `user.jane`?',
  ],
  ['a service that is meant not to exist', 'principal: d.app, unknown: true', undefined],
  ['a role that is meant not to exist', 'roles: [t], unknown: true', undefined],
  [
    'a service that exists although it is not meant to',
    'principal: d.api, unknown: true',
    '1:32: [0].unknown: all names in the test exist: remove `unknown`',
  ],
  ['one role of two', 'roles: [r, t]', '1:16: [0].roles[1]: domain `d` has no role `t`'],
] as const) {
  test(`a policy test about ${note}`, (t) => {
    const text = `- { ${subject}, action: b, resource: x, expect: deny }\n`;
    t.deepEqual(warned(t, caseFiles(text)), said === undefined ? [] : [`d.cases.yaml:${said}`]);
  });
}
