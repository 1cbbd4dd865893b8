import test from 'ava';
import Database from 'better-sqlite3';
import type { Answer, CallOptions } from '#support/start-server';
import { caller, startServer, wholeFile } from '#support/start-server';

/* One server for the file; each test has domains of its own. Changes of one member see few of the others, and keep every rule. */
const file = wholeFile();
const base = '^/management/v1';
const server = await startServer(file, {
  domains: [
    {
      name: 'sys.auth',
      roles: { admin: ['sys.auth.operator'] },
      services: { operator: {} },
      policies: { administration: [['ALLOW', 'admin', '*', '*']] },
    },
    {
      name: 'media',
      roles: { friends: ['media.boss'] },
      services: { boss: {}, guest: {} },
      groups: { team: ['media.guest'] },
      policies: { consent: [['ALLOW', 'friends', 'view_domain', 'group.*']] },
    },
  ],
  options: { 'management.quotas.members': 30 },
});
const as = async (name: string) => caller(file, server, await server.pki.identity(name));
const operator = await as('sys.auth.operator');
const boss = await as('media.boss');
const guest = await as('media.guest');
test.after.always(() => file.end());

function send(method: string, body?: unknown, headers: Record<string, string> = {}): CallOptions {
  if (body === undefined) return { method, headers };
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

const names = (count: number, letter = 's') =>
  Array.from({ length: count }, (_, index) => `media.${letter}${String(index).padStart(2, '0')}`);

async function newDomain(name: string, members: readonly string[] = []): Promise<string> {
  const made = await operator(`${base}/domains`, send('POST', { domain: name, admins: ['media.boss'] }));
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  const domain = `${base}/domains/${name}`;
  const role = await boss(`${domain}/roles/reader`, send('PUT', { members }));
  if (role.status !== 201) throw new Error(`${role.status} ${role.text}`);
  return domain;
}

const bodyOf = (answer: Answer) => [answer.status, answer.body];

async function membersIn(list: string): Promise<readonly string[]> {
  const { items } = (await boss(`${list}/members?limit=1000`)).body as { items: { name: string }[] };
  return items.map(({ name }) => name);
}

test('one member of many comes, changes and goes; the others stay', async (t) => {
  const domain = await newDomain('many', names(20));
  const member = `${domain}/roles/reader/members/media.s07x`;
  const made = await boss(member, send('PUT', { review: '2030-01-01T00:00:00Z' }));
  t.deepEqual(bodyOf(made), [201, { name: 'media.s07x', review: '2030-01-01T00:00:00.000Z' }]);
  t.is((await boss(member, send('PUT', {}, { 'if-match': '"other"' }))).status, 412);
  t.is((await boss(member, send('PUT', {}, { 'if-none-match': '*' }))).status, 412);
  t.deepEqual(
    bodyOf(await boss(member, send('PUT', { disabled: true }, { 'if-match': String(made.headers['etag']) }))),
    [200, { name: 'media.s07x', disabled: true }],
  );
  t.deepEqual(await membersIn(`${domain}/roles/reader`), [...names(20), 'media.s07x'].sort());
  t.is((await boss(member, send('DELETE'))).status, 204);
  t.is((await boss(member, send('DELETE'))).status, 404);
  t.deepEqual(await membersIn(`${domain}/roles/reader`), names(20));
});

test('the audit log has the one member, and the policy version stays', async (t) => {
  const domain = await newDomain('logged', names(20));
  await boss(`${domain}/roles/reader/members/media.extra?reason=because`, send('PUT', {}));
  const { items } = (await boss(`${domain}/changes?limit=2`)).body as { items: Record<string, unknown>[] };
  t.like(items[0], {
    actor: 'media.boss',
    reason: 'because',
    action: 'change',
    version: 1,
    before: { roles: [{ name: 'reader', members: [] }] },
    after: { roles: [{ name: 'reader', members: [{ name: 'media.extra', disabled: false }] }] },
  });
  t.is(items[1]?.['version'], 1);
});

test('a dry run says what the change would do, and does nothing', async (t) => {
  const domain = await newDomain('dry', names(20));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'film', role: 'reader' }]));
  const { body } = await boss(`${domain}/roles/reader/members/media.s03?dryRun=true`, send('DELETE'));
  t.like(body, { changes: [{ change: 'delete', kind: 'member', domain: 'dry', name: 'reader: media.s03' }] });
  const whoOf = (answer: Answer) =>
    (answer.body as { impact: readonly { change: string; principal: string }[] }).impact.map(
      ({ change, principal }) => `${change} ${principal}`,
    );
  const { impact } = body as { impact: readonly unknown[] };
  t.is(impact.length, 1);
  const rule = { action: 'write', resource: 'film', role: 'reader' };
  const wider = await boss(`${domain}/policies/q?dryRun=true`, send('PUT', [rule]));
  t.deepEqual(
    whoOf(wider),
    names(20).map((name) => `gain ${name}`),
  );
  await boss(`${domain}/roles/second`, send('PUT', { members: ['media.s03'] }));
  await boss(`${domain}/policies/r`, send('PUT', [{ action: 'read', resource: 'film', role: 'second' }]));
  t.deepEqual(whoOf(await boss(`${domain}/roles/reader/members/media.s03?dryRun=true`, send('DELETE'))), []);
  t.deepEqual(whoOf(await boss(`${domain}/roles/reader?dryRun=true`, send('PUT', { members: names(19) }))), [
    'loss media.s19',
  ]);
  t.deepEqual(await membersIn(`${domain}/roles/reader`), names(20));
});

test('a page of members holds no more than was asked for, also when members go meanwhile', async (t) => {
  const domain = await newDomain('pages', names(25));
  const page = async (query: string) =>
    (await boss(`${domain}/roles/reader/members${query}`)).body as { items: { name: string }[]; next?: string };
  const first = await page('?limit=10');
  t.deepEqual(
    first.items.map(({ name }) => name),
    names(10),
  );
  await boss(`${domain}/roles/reader/members/media.s09`, send('DELETE'));
  const second = await page(`?limit=20&cursor=${first.next}`);
  t.deepEqual(
    second.items.map(({ name }) => name),
    names(25).slice(10),
  );
  t.is(second.next, undefined);
  const exact = await page('?limit=24');
  t.deepEqual([exact.items.length, exact.next], [24, undefined]);
  t.is((await boss(`${domain}/roles/nothing/members`)).status, 404);
  t.is((await guest(`${domain}/roles/reader/members`)).status, 403);
});

test('the quota counts the members that the change does not touch', async (t) => {
  const domain = await newDomain('full', names(29));
  t.deepEqual(bodyOf(await boss(`${domain}/roles/reader/members/media.more`, send('PUT', {}))), [
    409,
    { code: 409, message: 'domain `full` may have at most 30 members' },
  ]);
  t.is((await boss(`${domain}/roles/reader/members/media.s00`, send('PUT', { disabled: true }))).status, 200);
  t.is((await boss(`${domain}/roles/reader/members/media.s00`, send('DELETE'))).status, 204);
  t.is((await boss(`${domain}/roles/reader/members/media.more`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/groups/team`, send('PUT', { members: ['media.a'] }))).status, 409);
});

test('an administrator may go while another stays, also one in a group', async (t) => {
  const domain = await newDomain('led');
  const admin = `${domain}/roles/admin/members`;
  const refused = [409, { code: 409, message: 'domain `led` would be left without an administrator' }];
  t.deepEqual(bodyOf(await boss(`${admin}/media.boss`, send('DELETE'))), refused);
  t.is((await boss(`${domain}/groups/chiefs`, send('PUT', { members: ['media.boss', 'media.x'] }))).status, 201);
  t.is((await boss(`${admin}/led:group.chiefs`, send('PUT', {}))).status, 201);
  t.is((await boss(`${admin}/media.boss`, send('DELETE'))).status, 204);
  t.is((await boss(`${domain}/groups/chiefs/members/media.x`, send('DELETE'))).status, 204);
  t.deepEqual(bodyOf(await boss(`${domain}/groups/chiefs/members/media.boss`, send('DELETE'))), refused);
  t.deepEqual(bodyOf(await boss(`${admin}/led:group.chiefs`, send('DELETE'))), refused);
  t.is((await boss(`${domain}/groups/chiefs/members/media.y`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/groups/chiefs/members/media.boss`, send('DELETE'))).status, 204);
});

test('a delegate changes the members of a group, but not of one whose members manage', async (t) => {
  const domain = await newDomain('groups');
  await boss(`${domain}/groups/plain`, send('PUT', { members: names(5) }));
  await boss(`${domain}/groups/mighty`, send('PUT', { members: names(5) }));
  await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.guest', 'groups:group.mighty'] }));
  const rules = [{ action: 'manage_members', resource: 'group.*', role: 'keepers' }];
  await boss(`${domain}/policies/management`, send('PUT', rules));
  t.is((await guest(`${domain}/groups/plain/members/media.new`, send('PUT', {}))).status, 201);
  t.deepEqual(bodyOf(await guest(`${domain}/groups/mighty/members/media.new`, send('PUT', {}))), [
    403,
    { code: 403, message: 'only an administrator may change who manages the domain' },
  ]);
});

test('groups, wildcards and trust are checked for one member as for all', async (t) => {
  const domain = await newDomain('strict', names(3));
  const member = (name: string) => `${domain}/roles/reader/members/${name}`;
  t.is((await boss(member('media:group.team'), send('PUT', {}))).status, 201);
  t.is((await boss(member('media:group.none'), send('PUT', {}))).status, 409);
  t.is((await boss(member('strict:group.none'), send('PUT', {}))).status, 409);
  t.is((await boss(member('nowhere:group.none'), send('PUT', {}))).status, 403);
  t.is((await boss(member('*'), send('PUT', {}))).status, 400);
  t.is((await boss(`${domain}/roles/nothing/members/media.a`, send('PUT', {}))).status, 404);
  await boss(`${domain}/roles/lent`, send('PUT', { trust: 'media' }));
  t.is((await boss(`${domain}/roles/lent/members/media.a`, send('PUT', {}))).status, 409);
});

test('a policy is changed, and a role deleted, beside members that are left alone', async (t) => {
  const domain = await newDomain('beside', names(20));
  await boss(`${domain}/roles/other`, send('PUT', { members: names(3, 'o') }));
  t.is(
    (await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'film', role: 'reader' }]))).status,
    201,
  );
  t.is((await boss(`${domain}/services/api`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/limits`, send('PUT', { tokenExpirySeconds: 60 }))).status, 200);
  t.is((await boss(`${domain}/roles/other`, send('DELETE'))).status, 204);
  t.deepEqual(await membersIn(`${domain}/roles/reader`), names(20));
  const { items } = (await boss(`${domain}/changes?limit=1`)).body as { items: { before: unknown }[] };
  const gone = names(3, 'o').map((name) => ({ name, disabled: false }));
  t.deepEqual(items[0]?.before, { roles: [{ name: 'other', members: gone }] });
});

test.after('the number of members that stands beside each list is right after all this', (t) => {
  const database = new Database(`${server.folder}/signet.db`, { readonly: true });
  const wrong = database
    .prepare(
      `select name from roles where member_count <> (select count(*) from members
         where members.domain = roles.domain and kind = 'role' and list = roles.name)
       union all select name from groups where member_count <> (select count(*) from members
         where members.domain = groups.domain and kind = 'group' and list = groups.name)`,
    )
    .all();
  database.close();
  t.deepEqual(wrong, []);
});
