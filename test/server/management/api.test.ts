import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';
import Database from 'better-sqlite3';
import { managementWorld, send, tagOf } from '#support/management-world';
import { caller, startServer } from '#support/start-server';

/* One server for the file; each test has domains of its own. */
const { server, base, operator, boss, guest, as, newDomain, end } = await managementWorld();

const refusing = await newDomain('refusals');
await boss(`${refusing}/roles/reader`, send('PUT', {}));
await boss(`${refusing}/roles/needed`, send('PUT', {}));
await boss(`${refusing}/policies/needs`, send('PUT', [{ action: 'a', resource: 'b', role: 'needed' }]));
test.after.always(end);

test('the entity tag of an answer to a change is that of the next look, and good for the next change', async (t) => {
  const domain = await newDomain('tags');
  const changes: readonly (readonly [path: string, body: unknown])[] = [
    ['', { description: 'Tags' }],
    ['/limits', { tokenExpirySeconds: 60 }],
    ['/roles/reader', { members: ['media.player', 'media.guest'] }],
    ['/groups/team', { members: ['media.player'] }],
    ['/policies/look', [{ action: 'read', resource: 'film', role: 'reader' }]],
    ['/services/api', { hosts: ['b.example', 'a.example'] }],
  ];
  for (const [path, body] of changes) {
    const made = await boss(`${domain}${path}`, send('PUT', body));
    const seen = await boss(`${domain}${path}`);
    t.deepEqual([made.body, tagOf(made)], [seen.body, tagOf(seen)], path);
    t.is((await boss(`${domain}${path}`, send('PUT', body, { 'if-match': tagOf(made) }))).status, 200, path);
  }
});

test('a domain, its role, policy, member and service, each as it was put, live at once', async (t) => {
  const domain = await newDomain('films', { description: 'Films' });
  t.deepEqual((await boss(domain)).body, {
    name: 'films',
    description: 'Films',
    enabled: true,
    requireReason: false,
    limits: {},
    accounts: {},
  });
  const role = await boss(
    `${domain}/roles/reader`,
    send('PUT', { description: 'May look', members: ['media.player'] }),
  );
  t.deepEqual([role.status, role.body], [201, { name: 'reader', description: 'May look', members: ['media.player'] }]);
  const policy = await boss(
    `${domain}/policies/look`,
    send('PUT', [{ action: 'read', resource: 'film', role: 'reader' }]),
  );
  t.is(policy.status, 201);
  t.like(policy.body, { name: 'look', active: '0' });
  const access = async (who: string) => (await guest(`${base}/access/read?resource=films:film&principal=${who}`)).body;
  t.deepEqual(await access('media.player'), { granted: true });
  t.deepEqual(await access('media.guest'), { granted: false });
  const member = await boss(
    `${domain}/roles/reader/members/media.guest`,
    send('PUT', { expires: '2099-01-01T00:00:00Z' }),
  );
  t.deepEqual([member.status, member.body], [201, { name: 'media.guest', expires: '2099-01-01T00:00:00.000Z' }]);
  t.deepEqual(await access('media.guest'), { granted: true });
  t.is((await boss(`${domain}/roles/reader/members/media.guest`, send('DELETE'))).status, 204);
  t.deepEqual(await access('media.guest'), { granted: false });
  const service = await boss(
    `${domain}/services/api`,
    send('PUT', { endpoint: 'https://films.example/', hosts: ['a'] }),
  );
  t.deepEqual(service.body, { name: 'api', endpoint: 'https://films.example/', hosts: ['a'] });
  t.deepEqual((await boss(`${domain}/services`)).body, { items: ['api'] });
  t.is((await boss(`${domain}/limits`, send('PUT', { tokenExpirySeconds: 60 }))).status, 200);
  t.deepEqual((await boss(`${domain}/limits`)).body, { tokenExpirySeconds: 60 });
});

test('versions: rules added and removed, another version made active, and off', async (t) => {
  const domain = await newDomain('versions');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  const policy = `${domain}/policies/p`;
  const rule = (action: string) => ({ action, resource: 'a', role: 'reader' });
  t.is((await boss(`${policy}/versions/1`, send('PUT', [rule('read')]))).status, 201);
  t.is((await boss(`${policy}/versions/2`, send('PUT', [rule('write')]))).status, 200);
  t.like((await boss(policy)).body, { active: '1' });
  t.like((await boss(`${policy}/active`, send('PUT', { version: '2' }))).body, { active: '2' });
  t.is((await boss(`${policy}/versions/2/assertions`, send('POST', rule('list')))).status, 200);
  const { versions } = (await boss(policy)).body as { versions: Record<string, { id: number; action: string }[]> };
  t.deepEqual(
    versions['2']?.map(({ action }) => action),
    ['write', 'list'],
  );
  t.is((await boss(`${policy}/versions/2/assertions/${versions['2']?.[0]?.id}`, send('DELETE'))).status, 200);
  t.is((await boss(`${policy}/versions/2`, send('DELETE'))).status, 409);
  t.is((await boss(`${policy}/active`, send('PUT', { version: null }))).status, 200);
  t.is((await boss(`${policy}/versions/2`, send('DELETE'))).status, 200);
  t.is((await boss(policy, send('DELETE'))).status, 204);
  t.is((await boss(policy)).status, 404);
});

test('who was slower is told, and changes nothing', async (t) => {
  const domain = await newDomain('races');
  const role = `${domain}/roles/reader`;
  const first = await boss(role, send('PUT', { description: 'one' }, { 'if-none-match': '*' }));
  t.is(first.status, 201);
  t.is((await boss(role, send('PUT', { description: 'two' }, { 'if-none-match': '*' }))).status, 412);
  const second = await boss(role, send('PUT', { description: 'two' }, { 'if-match': tagOf(first) }));
  t.is(second.status, 200);
  t.is((await boss(role, send('PUT', { description: 'three' }, { 'if-match': tagOf(first) }))).status, 412);
  t.is((await boss(role, send('DELETE', undefined, { 'if-match': tagOf(first) }))).status, 412);
  t.like((await boss(role)).body, { description: 'two' });
  t.is((await boss(`${domain}/roles/none`, send('DELETE', undefined, { 'if-match': '*' }))).status, 412);
});

test('a dry run says who gains what, and changes nothing', async (t) => {
  const domain = await newDomain('dry');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'a', role: 'reader' }]));
  const stored = () => server.store.domain(parseDomainName('dry'));
  const before = await stored();
  const dry = await boss(`${domain}/roles/reader/members/media.player?dryRun=true`, send('PUT', {}));
  t.is(dry.status, 200);
  t.deepEqual(dry.body, {
    changes: [{ change: 'create', kind: 'member', name: 'reader: media.player', domain: 'dry' }],
    impact: [
      {
        change: 'gain',
        action: { matching: ['read'], except: [] },
        resource: { matching: ['a'], except: [] },
        example: { principal: 'media.player', action: 'read', resource: 'dry:a' },
        domain: 'dry',
        principal: 'media.player',
      },
    ],
  });
  t.is(
    (await operator(`${base}/domains?dryRun=true`, send('POST', { domain: 'dry2', admins: ['media.boss'] }))).status,
    200,
  );
  t.is((await boss(`${domain}/roles/reader?dryrun=true`, send('DELETE'))).status, 400);
  t.deepEqual(await stored(), before);
  t.is(await server.store.domain(parseDomainName('dry2')), undefined);
});

test('the record of a change says who, with which certificate, when, why and what', async (t) => {
  const domain = await newDomain('audited', { requireReason: true }).catch((error: unknown) => String(error));
  t.regex(domain, /asks for a reason/);
  const made = await operator(
    `${base}/domains?reason=ticket+1`,
    send('POST', { domain: 'audited', admins: ['media.boss'], requireReason: true }),
  );
  t.is(made.status, 201);
  const path = `${base}/domains/audited`;
  t.is((await boss(`${path}/roles/reader`, send('PUT', {}))).status, 400);
  t.is((await boss(`${path}/roles/reader?reason=f%C3%BCr+alle`, send('PUT', {}))).status, 201);
  const { items } = (await boss(`${path}/changes`)).body as { items: Record<string, unknown>[] };
  t.is(items.length, 2);
  t.like(items[0], {
    actor: 'media.boss',
    reason: 'für alle',
    action: 'change',
    subject: 'audited',
    version: 1,
    after: { roles: [{ name: 'reader', members: [] }] },
  });
  t.regex(String(items[0]?.['certificateSerial']), /^[0-9a-f]{16,}$/);
  t.truthy(items[0]?.['requestId']);
  t.is((await server.store.verifyAudit()).fault, undefined);
});

const refusals: readonly (readonly [note: string, path: string, method: string, body: unknown, status: number])[] = [
  ['the last administrator removed', 'roles/admin/members/media.boss', 'DELETE', undefined, 409],
  ['the last administrator disabled', 'roles/admin/members/media.boss', 'PUT', { disabled: true }, 409],
  ['the role of the administrators removed', 'roles/admin', 'DELETE', undefined, 409],
  ['everybody a member', 'roles/reader/members/*', 'PUT', {}, 400],
  ['a prefix a member', 'roles/reader', 'PUT', { members: ['media.*'] }, 400],
  ['a role `*`', 'roles/*', 'PUT', {}, 400],
  ['a group that is not there', 'roles/reader/members/media:group.none', 'PUT', {}, 409],
  ['trust in a domain that is not there', 'roles/lent', 'PUT', { trust: 'nowhere' }, 409],
  ['a rule for a role that is not there', 'policies/p', 'PUT', [{ action: 'a', resource: 'b', role: 'none' }], 400],
  ['a role that a rule needs', 'roles/needed', 'DELETE', undefined, 409],
  ['an unknown field', 'roles/reader', 'PUT', { member: [] }, 400],
  ['a body of another shape', 'roles/reader', 'PUT', [], 400],
  ['a private key', 'services/api/keys/0', 'PUT', { pem: '-----BEGIN PRIVATE KEY-----' }, 400],
  ['a cloud account by a tenant', 'accounts/aws', 'PUT', { account: '012345678901' }, 403],
  ['a domain that is enabled deleted', '', 'DELETE', undefined, 403],
];
for (const [note, path, method, body, status] of refusals) {
  test(`refused: ${note}`, async (t) => {
    const stored = () => server.store.domain(parseDomainName('refusals'));
    const before = await stored();
    const answer = await boss(path === '' ? refusing : `${refusing}/${path}`, send(method, body));
    t.is(answer.status, status, answer.text);
    t.deepEqual(await stored(), before);
  });
}

test('a wildcard that is asked for by name', async (t) => {
  const domain = await newDomain('wild');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  t.is((await boss(`${domain}/roles/reader/members/*?allowWildcard=true`, send('PUT', {}))).status, 201);
});

test('delegates manage what they were given, and not who manages', async (t) => {
  const domain = await newDomain('delegated');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.guest'] }));
  await boss(`${domain}/services/api`, send('PUT', {}));
  await boss(
    `${domain}/policies/management`,
    send('PUT', [
      { action: 'manage_members', resource: 'role.*', role: 'keepers' },
      { action: 'manage_policies', resource: 'policy.*', role: 'keepers' },
    ]),
  );
  await boss(`${domain}/policies/data`, send('PUT', [{ action: '*', resource: 'film.*', role: 'reader' }]));
  t.is((await guest(`${domain}/roles/reader/members/media.player`, send('PUT', {}))).status, 201);
  t.is((await guest(`${domain}/roles/admin/members/media.guest`, send('PUT', {}))).status, 403);
  t.is((await guest(`${domain}/roles/keepers/members/media.player`, send('PUT', {}))).status, 403);
  t.is((await guest(`${domain}/services/api/keys/0`, send('PUT', { pem: 'x' }))).status, 403);
  t.is((await boss(`${domain}/services/api/keys/0`, send('PUT', { pem: 'x' }))).status, 400);
  t.is((await guest(`${domain}/services/api`, send('PUT', {}))).status, 403);
  t.is((await guest(`${domain}/roles/reader`, send('DELETE'))).status, 403);
  const rule = { action: 'manage_keys', resource: 'service.*', role: 'reader' };
  t.is((await guest(`${domain}/policies/more`, send('PUT', [rule]))).status, 403);
  t.is((await guest(`${domain}/policies/more`, send('PUT', [{ ...rule, action: 'read' }]))).status, 201);
  const player = await as('media.player');
  t.is((await player(`${domain}/roles/reader/members/media.keyer`, send('PUT', {}))).status, 403);
});

test('strangers, role certificates and what is not there', async (t) => {
  const domain = await newDomain('closed');
  t.is((await guest(domain)).status, 403);
  t.is((await guest(`${domain}/roles/reader`, send('PUT', {}))).status, 403);
  t.is((await guest(`${base}/domains`, send('POST', { domain: 'mine', admins: ['media.guest'] }))).status, 403);
  t.is((await guest(`${base}/changes`)).status, 403);
  t.deepEqual((await guest(`${base}/domains`)).body, { items: [] });
  t.is((await operator(`${base}/domains/nothing`)).status, 404);
  t.is((await operator(`${base}/nothing`)).status, 404);
  t.is((await operator(`${base}/domains`, send('DELETE'))).status, 405);
  t.is((await caller(t, server)(`${base}/domains`)).status, 401);
});

test('lists come in pages, whose cursors are signed for their list', async (t) => {
  const domain = await newDomain('paged');
  const members = Array.from({ length: 25 }, (_, index) => `media.s${String(index).padStart(2, '0')}`);
  await boss(`${domain}/roles/reader`, send('PUT', { members }));
  const seen: string[] = [];
  let query = '?limit=10';
  let pages = 0;
  let cursor = '';
  for (;;) {
    const { items, next } = (await boss(`${domain}/roles/reader/members${query}`)).body as {
      items: { name: string }[];
      next?: string;
    };
    seen.push(...items.map(({ name }) => name));
    pages += 1;
    if (next === undefined) break;
    cursor = next;
    query = `?limit=10&cursor=${next}`;
  }
  t.deepEqual([pages, seen], [3, members]);
  t.is((await boss(`${domain}/roles/admin/members?cursor=${cursor}`)).status, 400);
  t.is((await boss(`${domain}/roles/reader/members?cursor=${cursor.replace(/^./, 'A')}`)).status, 400);
  t.is((await boss(`${domain}/roles/reader/members?cursor=x'%3B--`)).status, 400);
  for (const limit of ['0', '1001', '-1', 'x']) t.is((await boss(`${domain}/roles?limit=${limit}`)).status, 400);
});

test('roles come with their fields and first members, all of them or one', async (t) => {
  const domain = await newDomain('detailed');
  const members = Array.from({ length: 11 }, (_, index) => `media.s${String(index).padStart(2, '0')}`);
  await boss(`${domain}/roles/reader`, send('PUT', { description: 'reads', members }));
  const expires = '2099-01-01T00:00:00.000Z';
  await boss(
    `${domain}/roles/writer`,
    send('PUT', { members: [{ name: 'media.guest', expires }, ...members.slice(2)] }),
  );
  const reader = { name: 'reader', description: 'reads', members: members.slice(0, 10), more: true };
  const writer = { name: 'writer', members: [{ name: 'media.guest', expires }, ...members.slice(2)] };
  const admin = { name: 'admin', description: 'Administrators of the domain', members: ['media.boss'] };
  t.deepEqual((await boss(`${domain}/role-details`)).body, { items: [admin, reader, writer] });
  t.deepEqual((await boss(`${domain}/role-details?name=reader`)).body, { items: [reader] });
  t.deepEqual((await boss(`${domain}/role-details?name=nothing`)).body, { items: [] });
  const first = (await boss(`${domain}/role-details?limit=2`)).body as { items: unknown[]; next: string };
  t.deepEqual(first.items, [admin, reader]);
  t.deepEqual((await boss(`${domain}/role-details?limit=2&cursor=${first.next}`)).body, { items: [writer] });
  t.deepEqual((await boss(`${domain}/role-details?limit=101`)).body, {
    code: 400,
    message: 'limit must be from 1 to 100',
  });
  t.is((await guest(`${domain}/role-details`)).status, 403);
});

test('search tells the ends of memberships', async (t) => {
  const domain = await newDomain('ending');
  const expires = '2099-01-01T00:00:00.000Z';
  await boss(`${domain}/roles/a`, send('PUT', { members: [{ name: 'media.player', expires }] }));
  await boss(`${domain}/roles/b`, send('PUT', { members: [{ name: 'media.player', expires, disabled: true }] }));
  await boss(`${domain}/roles/c`, send('PUT', { members: ['media.player'] }));
  await boss(`${domain}/groups/g`, send('PUT', { members: [{ name: 'media.player', expires }] }));
  const { items } = (await boss(`${base}/search?member=media.player`)).body as { items: { domain: string }[] };
  const hit = { domain: 'ending', entry: 'media.player' };
  t.deepEqual(
    items.filter((each) => each.domain === 'ending'),
    [
      { ...hit, kind: 'group', name: 'g', expires },
      { ...hit, kind: 'role', name: 'a', expires },
      { ...hit, kind: 'role', name: 'b', disabled: true },
      { ...hit, kind: 'role', name: 'c' },
    ],
  );
});

test('search finds members through wildcards and rules through patterns', async (t) => {
  const domain = await newDomain('found');
  await boss(`${domain}/roles/reader?allowWildcard=true`, send('PUT', { members: ['media.pla*'] }));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'shelf*', role: 'reader' }]));
  const hits = async (query: string) => {
    const { items } = (await boss(`${base}/search?${query}`)).body as { items: { domain: string; entry: string }[] };
    return items.filter((hit) => hit.domain === 'found').map(({ entry }) => entry);
  };
  t.deepEqual(await hits('member=media.player'), ['media.pla*']);
  t.deepEqual(await hits('resource=found:shelf1&action=read'), ['ALLOW read on found:shelf* for found:role.reader']);
  t.deepEqual(await hits('resource=found:shelf1&action=write'), []);
  t.is((await boss(`${base}/search`)).status, 400);
  for (const [name, most] of [
    ['resource', 4096],
    ['action', 256],
  ] as const) {
    t.is((await boss(`${base}/search?${name}=${'a'.repeat(most)}`)).status, 200);
    const { status, body } = await boss(`${base}/search?${name}=${'a'.repeat(most + 1)}`);
    t.deepEqual([status, body], [400, { code: 400, message: `${name} must have at most ${most} characters` }]);
  }
});

test('a domain goes only when it is disabled', async (t) => {
  const domain = await newDomain('going');
  const user = await newDomain('users.of.going');
  await boss(`${domain}/groups/team`, send('PUT', { members: ['media.guest'] }));
  await boss(`${user}/roles/reader`, send('PUT', { members: ['going:group.team'] }));
  t.is((await operator(domain, send('DELETE'))).status, 409);
  t.is((await operator(domain, send('PUT', { enabled: false }))).status, 200);
  t.is((await operator(domain, send('DELETE'))).status, 204);
  t.is((await operator(domain)).status, 404);
  t.deepEqual((await boss(`${user}/roles/reader/members`)).body, { items: [] });
  t.is((await operator(`${base}/domains/sys.auth`, send('PUT', { enabled: false }))).status, 409);
});

test('the management API alone, and not at all', async (t) => {
  const { pki } = server;
  const domains = [{ name: 'media', services: { guest: {} } }];
  const who = await pki.identity('media.guest');
  const alone = caller(t, await startServer(t, { pki, domains, options: { 'management.alone': true } }), who);
  t.is((await alone(`${base}/domains`)).status, 200);
  t.is((await alone('/oauth2/keys')).status, 404);
  t.is((await alone('^/healthz')).status, 200);
  const without = caller(t, await startServer(t, { pki, domains, options: { 'management.enabled': false } }), who);
  t.is((await without(`${base}/domains`)).status, 404);
  t.is((await without('/oauth2/keys')).status, 200);
});

test('locked by another writer: changes are refused after a while, reads go on', async (t) => {
  const { pki } = server;
  const domains = [{ name: 'media', roles: { admin: ['media.boss'] }, services: { boss: {} } }];
  const locked = await startServer(t, { pki, domains });
  const writer = caller(t, locked, await pki.identity('media.boss'));
  const database = new Database(join(locked.folder, 'signet.db'));
  t.teardown(() => database.close());
  database.exec('begin immediate');
  const change = writer(`${base}/domains/media/roles/late`, send('PUT', {}));
  const reader = caller(t, locked, await pki.identity('media.boss'));
  t.is((await reader(`${base}/domains/media/roles`)).status, 200);
  const refused = await change;
  t.deepEqual([refused.status, refused.body], [503, { code: 503, message: 'the store is locked by another writer' }]);
  t.is(refused.headers['retry-after'], '5');
  database.exec('rollback');
  t.is((await writer(`${base}/domains/media/roles/late`, send('PUT', {}))).status, 201);
});

test('hostile texts are texts: each is stored as it is or refused, and never more than that', async (t) => {
  const domain = await newDomain('hostile');
  for (const text of ["'; drop table domains; --", '%', '_', '\\', '"', '🔒', '#{x}', '<script>']) {
    const put = await boss(`${domain}/roles/reader`, send('PUT', { description: text }));
    t.like((await boss(`${domain}/roles/reader`)).body, { description: text }, put.text);
    const path = `${domain}/roles/${encodeURIComponent(text)}`;
    t.true([400, 404].includes((await boss(path === `${domain}/roles/_` ? `${path}%25` : path)).status), text);
    t.is((await boss(`${base}/search?member=${encodeURIComponent(text)}`)).status, 200);
  }
  for (const text of ['line\nbreak\u0000', '\u001b[31m', 'a\u202eb', 'a\u2066b', 'a\u061cb', 'a\u200bb']) {
    t.is((await boss(`${domain}/roles/reader`, send('PUT', { description: text }))).status, 400);
    t.is((await boss(`${domain}/roles/reader?reason=${encodeURIComponent(text)}`, send('PUT', {}))).status, 400);
  }
  t.truthy(await server.store.domain(parseDomainName('hostile')));
});
