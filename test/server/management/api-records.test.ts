import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import test from 'ava';
import { managementWorld, send, tagOf } from '#support/management-world';
import type { Answer } from '#support/start-server';

const { server, base, operator, boss, guest, as, newDomain, end } = await managementWorld();
test.after.always(end);

interface ShownChange {
  readonly action: string;
  readonly actor: string;
  readonly before?: readonly Record<string, unknown>[];
  readonly after?: readonly Record<string, unknown>[];
}

function items(answer: Answer): readonly ShownChange[] {
  return (answer.body as { items: ShownChange[] }).items;
}

test('the changes of a role, group, policy and service, newest first, and of none else', async (t) => {
  const domain = await newDomain('objects');
  await boss(`${domain}/roles/reader`, send('PUT', { description: 'one' }));
  await boss(`${domain}/roles/reader/members/media.player`, send('PUT', {}));
  await boss(`${domain}/roles/other`, send('PUT', {}));
  await boss(`${domain}/roles/reader`, send('DELETE'));
  await boss(`${domain}/groups/team`, send('PUT', { members: ['media.guest'] }));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'a', role: 'other' }]));
  await boss(`${domain}/services/api`, send('PUT', {}));
  const role = { name: 'reader', description: 'one', members: [] };
  const player = { name: 'media.player', disabled: false };
  const sides = (answer: Answer) => items(answer).map(({ action, before, after }) => ({ action, before, after }));
  t.deepEqual(sides(await boss(`${domain}/roles/READER/changes`)), [
    { action: 'change', before: [{ ...role, members: [player] }], after: undefined },
    { action: 'change', before: [role], after: [{ ...role, members: [player] }] },
    { action: 'change', before: undefined, after: [role] },
  ]);
  t.deepEqual(sides(await boss(`${domain}/roles/admin/changes`)).length, 1);
  t.is(items(await boss(`${domain}/groups/team/changes`)).length, 1);
  t.like(items(await boss(`${domain}/policies/p/changes`))[0]?.after?.[0], { name: 'p', version: '0' });
  t.is(items(await boss(`${domain}/services/api/changes`))[0]?.actor, 'media.boss');
  t.deepEqual((await boss(`${domain}/services/none/changes`)).body, { items: [] });
  t.is((await guest(`${domain}/roles/reader/changes`)).status, 403);
  t.is((await boss(`${base}/domains/nothing/roles/reader/changes`)).status, 403);
  t.is((await operator(`${base}/domains/nothing/roles/reader/changes`)).status, 404);
  t.is((await boss(`${domain}/roles/a%2fb/changes`)).status, 400);
});

test('the changes of an object come in pages, and what documents did is among them', async (t) => {
  const domain = await newDomain('paged.objects');
  for (let index = 0; index < 4; index += 1) {
    await boss(`${domain}/roles/reader`, send('PUT', { description: `v${index}` }));
    await boss(`${domain}/roles/noise`, send('PUT', { description: `v${index}` }));
  }
  const folder = join(server.folder, 'documents');
  mkdirSync(folder);
  const text =
    'domain: paged.objects\nroles:\n  admin: { members: [media.boss] }\n  reader: { description: applied }\n';
  writeFileSync(join(folder, 'paged.objects.yaml'), text);
  await applyDocuments(server.store, readDocumentFolder(folder), { actor: 'local:jane' }, { now: 0 });
  const seen: string[] = [];
  let next: string | undefined = '';
  while (next !== undefined) {
    const answer: Answer = await boss(`${domain}/roles/reader/changes?limit=2${next && `&cursor=${next}`}`);
    for (const { actor, after } of items(answer)) seen.push(`${actor} ${after?.[0]?.['description']}`);
    next = (answer.body as { next?: string }).next;
    if (next !== undefined) {
      t.is((await boss(`${domain}/roles/noise/changes?limit=2&cursor=${next}`)).status, 400);
      t.is((await operator(`${domain}/roles/reader/changes?limit=2&cursor=${next}`)).status, 400);
    }
  }
  t.deepEqual(seen, ['local:jane applied', 'media.boss v3', 'media.boss v2', 'media.boss v1', 'media.boss v0']);
});

test('who may look at one object sees nothing of the others that changed with it', async (t) => {
  const domain = await newDomain('narrow');
  await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.keyer'] }));
  const rule = { action: 'view_domain', resource: 'role.keepers', role: 'keepers' };
  await boss(`${domain}/policies/m`, send('PUT', [rule]));
  const folder = join(server.folder, 'narrow');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'narrow.yaml'),
    `domain: narrow
roles:
  admin: { members: [media.boss] }
  keepers: { members: [media.keyer], description: new }
  secret: { members: [media.player] }
policies:
  m: [{ action: view_domain, resource: role.keepers, role: keepers }]
`,
  );
  await applyDocuments(server.store, readDocumentFolder(folder), { actor: 'local:jane' }, { now: 0 });
  const keyer = await as('media.keyer');
  const shown = await keyer(`${domain}/roles/keepers/changes`);
  t.is(shown.status, 200);
  t.is(items(shown).length, 2);
  t.notRegex(shown.text, /secret|media\.player/);
  t.is((await keyer(`${domain}/roles/secret/changes`)).status, 403);
  t.is((await keyer(`${domain}/changes`)).status, 403);
});

test('a member that no service is called is taken, and warned of', async (t) => {
  const domain = await newDomain('warned');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  const warning = 'domain `media` has no service `media.nobody`';
  const dry = await boss(`${domain}/roles/reader/members/media.nobody?dryRun=true`, send('PUT', {}));
  t.like(dry.body, { warnings: [warning] });
  const put = await boss(`${domain}/roles/reader/members/media.nobody`, send('PUT', {}));
  t.deepEqual([put.status, put.headers['signet-warning']], [201, warning]);
  const again = await boss(`${domain}/roles/reader/members/media.nobody`, send('PUT', { disabled: true }));
  t.deepEqual([again.status, again.headers['signet-warning']], [200, undefined]);
  const members = { members: ['media.player', 'user.jane', 'unknown.service', 'media.nobody', 'media.playr'] };
  const all = await boss(`${domain}/roles/other`, send('PUT', members));
  const others = 'domain `media` has no service `media.playr`; domain `unknown` does not exist';
  t.is(all.headers['signet-warning'], `${warning}; ${others}`);
  const past = await boss(`${domain}/roles/other/members/user.joe`, send('PUT', { expires: '2020-01-01T00:00:00Z' }));
  const expired = '`user.joe` expired on 2020-01-01T00:00:00.000Z: give a later time, or remove the member';
  t.deepEqual([past.status, past.headers['signet-warning']], [201, expired]);
});

test('a service whose name cannot stand in DNS is taken, and warned of once', async (t) => {
  const domain = await newDomain('underscored');
  const warning =
    'service `underscored.my_api` gets no DNS name of its own in certificates: a label has letters, digits and `-` inside';
  const put = await boss(`${domain}/services/my_api`, send('PUT', {}));
  t.deepEqual([put.status, put.headers['signet-warning']], [201, warning]);
  for (const name of ['my_api', 'my-api']) {
    t.is(
      (await boss(`${domain}/services/${name}`, send('PUT', { enabled: true }))).headers['signet-warning'],
      undefined,
    );
  }
});

test('quotas of a domain are set by system operators alone, and hold', async (t) => {
  const domain = await newDomain('quotas');
  const before = await boss(`${domain}/quotas`);
  t.like(before.body, { own: {}, inForce: { roles: 10_000, members: 100_000 } });
  t.is((await boss(`${domain}/quotas`, send('PUT', { roles: 2 }))).status, 403);
  const set = await operator(`${domain}/quotas`, send('PUT', { roles: 2, members: 1 }, { 'if-match': tagOf(before) }));
  t.is(set.status, 200);
  t.like(set.body, { own: { roles: 2, members: 1 }, inForce: { roles: 2, members: 1, groups: 10_000 } });
  t.is((await operator(`${domain}/quotas`, send('PUT', {}, { 'if-match': tagOf(before) }))).status, 412);
  t.is((await boss(`${domain}/roles/reader`, send('PUT', {}))).status, 201);
  const third = await boss(`${domain}/roles/third`, send('PUT', {}));
  t.deepEqual([third.status, third.body], [409, { code: 409, message: 'domain `quotas` may have at most 2 roles' }]);
  t.is((await boss(`${domain}/roles/reader/members/media.guest`, send('PUT', {}))).status, 409);
  t.is((await operator(`${domain}/quotas`, send('PUT', { role: 2 }))).status, 400);
  t.is((await operator(`${domain}/quotas`, send('PUT', { roles: -1 }))).status, 400);
  t.like((await operator(`${domain}/quotas`, send('PUT', {}))).body, { own: {} });
  t.is((await boss(`${domain}/roles/third`, send('PUT', {}))).status, 201);
});

test('rules beyond a quota are refused before they are read, whatever else is wrong with them', async (t) => {
  const domain = await newDomain('manyrules');
  t.is((await operator(`${domain}/quotas`, send('PUT', { assertions: 3 }))).status, 200);
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  const good = { action: 'read', resource: 'film.*', role: 'reader' };
  const bad = { ...good, role: 'nobody' };
  t.is((await boss(`${domain}/policies/first`, send('PUT', [good]))).status, 201);
  const many = (count: number) => Array.from({ length: count }, () => bad);
  const tooMany = [409, { code: 409, message: 'domain `manyrules` may have at most 3 assertions' }];
  const outcome = async (path: string, body: unknown) => {
    const answer = await boss(`${domain}/policies/${path}`, send('PUT', body));
    return [answer.status, answer.body];
  };
  // Two more are as many as there may be: they are read. So are three in the place of the one.
  for (const [path, fitting, body] of [
    ['second', 2, many],
    ['second', 2, (count: number) => ({ active: '1', versions: { '1': many(count - 1), '2': many(1) } })],
    ['first', 3, many],
    ['first/versions/0', 3, many],
    ['first/versions/1', 2, many],
  ] as const) {
    t.is((await outcome(path, body(fitting)))[0], 400, path);
    t.deepEqual(await outcome(path, body(fitting + 1)), tooMany, path);
  }
  t.is((await outcome('second', { active: '1', versions: 'rules' }))[0], 400);
  t.is((await outcome('second', [good, good]))[0], 201);
});

test('`__proto__` is no name in a body, however it is written', async (t) => {
  const domain = await newDomain('names');
  const answers = [];
  for (const name of ['__proto__', '\\u005f_proto__', '_\\u005fproto\\u005f_', '__pr\\u006Fto__']) {
    for (const body of [`{"${name}":{}}`, `{"members":[{"name":"a.b","${name}":1}]}`]) {
      const request = { method: 'PUT', headers: { 'content-type': 'application/json' }, body };
      answers.push((await boss(`${domain}/roles/reader`, request)).body);
    }
  }
  t.deepEqual(answers, Array(8).fill({ code: 400, message: '`__proto__` is not allowed as a name' }));
});

test('members whose review is due, the oldest first, for who may look at them', async (t) => {
  const domain = await newDomain('reviewed');
  const member = (name: string, review: string) =>
    boss(`${domain}/roles/reader/members/${name}`, send('PUT', { review, expires: '2099-01-01T00:00:00Z' }));
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  await boss(`${domain}/groups/team`, send('PUT', {}));
  await member('media.player', '2002-01-01T00:00:00Z');
  await member('media.guest', '2098-01-01T00:00:00Z');
  await boss(`${domain}/groups/team/members/media.keyer`, send('PUT', { review: '2001-01-01T00:00:00Z' }));
  const player = {
    domain: 'reviewed',
    kind: 'role',
    name: 'reader',
    member: 'media.player',
    review: '2002-01-01T00:00:00.000Z',
    expires: '2099-01-01T00:00:00.000Z',
  };
  const keyer = {
    domain: 'reviewed',
    kind: 'group',
    name: 'team',
    member: 'media.keyer',
    review: '2001-01-01T00:00:00.000Z',
  };
  t.deepEqual((await boss(`${base}/reviews?domain=reviewed`)).body, { items: [keyer, player] });
  const all = (await boss(`${base}/reviews?domain=reviewed&before=2099-01-01T00:00:00Z`)).body;
  t.is((all as { items: unknown[] }).items.length, 3);
  const first = (await boss(`${base}/reviews?domain=reviewed&limit=1`)).body as { items: unknown[]; next: string };
  t.deepEqual(first.items, [keyer]);
  t.deepEqual((await boss(`${base}/reviews?domain=reviewed&limit=1&cursor=${first.next}`)).body, { items: [player] });
  t.deepEqual((await guest(`${base}/reviews?domain=reviewed`)).body, { items: [] });
  t.is((await boss(`${base}/reviews?before=soon`)).status, 400);
});

test('what did not change is not sent again, and HEAD sends nothing', async (t) => {
  const domain = await newDomain('cached');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'a', resource: 'b', role: 'reader' }]));
  await boss(`${domain}/services/api`, send('PUT', {}));
  for (const path of [
    '',
    '/roles',
    '/roles/reader',
    '/roles/admin/members',
    '/policies/p',
    '/services/api',
    '/limits',
    '/quotas',
    '/changes',
  ]) {
    const first = await boss(`${domain}${path}`);
    t.is(first.status, 200, path);
    const tag = tagOf(first);
    for (const header of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
      const again = await boss(`${domain}${path}`, { headers: { 'if-none-match': header } });
      t.deepEqual([again.status, again.text, tagOf(again)], [304, '', tag], `${path} ${header}`);
    }
    t.is((await boss(`${domain}${path}`, { headers: { 'if-none-match': '"x"' } })).status, 200);
    const head = await boss(`${domain}${path}`, { method: 'HEAD' });
    t.deepEqual(
      [head.status, head.text, tagOf(head), head.headers['content-length']],
      [200, '', tag, String(Buffer.byteLength(first.text))],
      path,
    );
  }
  const old = tagOf(await boss(`${domain}/roles/reader`));
  await boss(`${domain}/roles/reader`, send('PUT', { description: 'new' }));
  t.is((await boss(`${domain}/roles/reader`, { headers: { 'if-none-match': old } })).status, 200);
});

test('a member and a key are read by themselves, with the tag that a write wants', async (t) => {
  const domain = await newDomain('single');
  await boss(`${domain}/roles/reader`, send('PUT', { members: ['media.player', 'media.guest'] }));
  const path = `${domain}/roles/reader/members/MEDIA.player`;
  const member = await boss(path);
  t.deepEqual([member.status, member.body], [200, { name: 'media.player' }]);
  const put = await boss(path, send('PUT', { disabled: true }, { 'if-match': tagOf(member) }));
  t.deepEqual([put.status, tagOf(put)], [200, tagOf(await boss(path))]);
  t.is((await boss(path, send('DELETE', undefined, { 'if-match': tagOf(member) }))).status, 412);
  t.is((await boss(`${domain}/roles/reader/members/media.keyer`)).status, 404);
  t.is((await boss(`${domain}/roles/none/members/media.keyer`)).status, 404);
  t.is((await guest(path)).status, 403);
  await boss(`${domain}/services/api`, send('PUT', {}));
  t.is((await boss(`${domain}/services/api/keys/0`)).status, 404);
});

test('If-Match takes strong tags only, and nothing else goes through', async (t) => {
  const domain = await newDomain('matched');
  const role = `${domain}/roles/reader`;
  const tag = tagOf(await boss(role, send('PUT', {})));
  const put = async (header: string) => (await boss(role, send('PUT', {}, { 'if-match': header }))).status;
  t.deepEqual(
    await Promise.all([`W/${tag}`, '"x"', tag.slice(1, -1), '', ',', 'abc', `"x", ${tag}`, '*'].map(put)),
    [412, 412, 400, 400, 400, 400, 200, 200],
  );
});

test('every error is a resource error', async (t) => {
  const domain = await newDomain('errors');
  const json = { 'content-type': 'application/json' };
  const big = 'x'.repeat(1024 * 1024 + 1);
  const cases: readonly (readonly [status: number, path: string, options: Parameters<typeof boss>[1]])[] = [
    [400, `${domain}/roles/reader`, { method: 'PUT', headers: json, body: '{' }],
    [400, `${domain}/roles/reader?dryRun=maybe`, send('PUT', {})],
    [404, `${domain}/nothing`, {}],
    [405, `${domain}/roles`, send('PUT', {})],
    [415, `${domain}/roles/reader`, { method: 'PUT', headers: { 'content-type': 'text/yaml' }, body: 'a: 1' }],
    [413, `${domain}/roles/reader`, { method: 'PUT', headers: json, body: JSON.stringify({ description: big }) }],
    [414, `${domain}/roles/reader?${'a'.repeat(9000)}`, {}],
    [431, `${domain}/roles`, { headers: { 'x-big': 'x'.repeat(20_000) } }],
  ];
  for (const [status, path, options] of cases) {
    const answer = await (await as('media.boss'))(path, options);
    t.is(answer.status, status, path.slice(0, 60));
    t.deepEqual(Object.keys(answer.body as object), ['code', 'message'], path.slice(0, 60));
    t.is((answer.body as { code: number }).code, status);
    t.is(answer.headers['content-type'], 'application/json');
  }
  t.is((await boss(`${domain}/roles`, send('PUT', {}))).headers['allow'], 'GET, HEAD');
  t.is((await boss(`${domain}/quotas`, send('DELETE'))).headers['allow'], 'GET, HEAD, PUT');
});
