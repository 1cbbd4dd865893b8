import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { inTurn, managementWorld, send } from '#support/management-world';

/* Ways past the approvals of a domain and of a role: C7, C8, C9 and C11 of what is tried against change requests. */

const clock = new FakeClock(systemClock.now());
const { base, operator, end, ...world } = await managementWorld(
  { 'management.requests.issuedByOperators': true },
  clock,
);
const as = async (name: string) => inTurn(await world.as(name));
const people = ['user.ann', 'user.bob', 'user.cid', 'user.dan'];
const [ann, bob, cid, boss] = [
  await as('user.ann'),
  await as('user.bob'),
  await as('user.cid'),
  await as('media.boss'),
];
test.after.always(end);

const requests = `${base}/requests`;
const idOf = (answer: { readonly body: unknown }) => Number(Reflect.get(Object(answer.body), 'id'));

async function made(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const answer = await operator(`${base}/domains`, send('POST', { domain: name, admins: people, ...more }));
  if (answer.status !== 201) throw new Error(answer.text);
  return `${base}/domains/${name}`;
}

async function asked(call: typeof ann, path: string, method: string, body?: unknown): Promise<number> {
  const answer = await call(`${path}${path.includes('?') ? '&' : '?'}request=true`, send(method, body));
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  return idOf(answer);
}

async function approve(call: typeof ann, id: number, digest?: string) {
  const seen = digest ?? digestOf(await call(`${requests}/${id}`));
  return await call(`${requests}/${id}/approval`, send('POST', seen === undefined ? {} : { plan: seen }));
}

const digestOf = (answer: { readonly body: unknown }): string | undefined =>
  Reflect.get(Object(Reflect.get(Object(answer.body), 'plan')), 'digest') as string | undefined;

test('no operation changes a protected domain at once, whoever calls', async (t) => {
  const domain = await made('fort');
  await ann(`${domain}/roles/reader`, send('PUT', { members: ['media.player'] }));
  await ann(`${domain}/groups/team`, send('PUT', { members: ['media.guest'] }));
  await ann(`${domain}/policies/films`, send('PUT', [{ action: 'read', resource: 'film', role: 'reader' }]));
  await ann(`${domain}/services/api`, send('PUT', {}));
  t.is((await ann(domain, send('PUT', { approvals: 1 }))).status, 200, 'raising it needs none');
  const rule = { action: 'write', resource: 'film', role: 'reader' };
  const tries: readonly (readonly [path: string, method: string, body?: unknown])[] = [
    ['', 'PUT', {}],
    ['', 'PUT', { approvals: 1, enabled: false }],
    ['/limits', 'PUT', { tokenExpirySeconds: 600 }],
    ['/quotas', 'PUT', { roles: 5 }],
    ['/accounts/aws', 'PUT', { account: '123456789012' }],
    ['/roles/reader', 'DELETE'],
    ['/roles/reader', 'PUT', { members: [] }],
    ['/roles/fresh', 'PUT', {}],
    ['/roles/reader/members/user.eve', 'PUT', {}],
    ['/roles/reader/members/media.player', 'DELETE'],
    ['/groups/team/members/user.eve', 'PUT', {}],
    ['/groups/team', 'DELETE'],
    ['/policies/films', 'PUT', [rule]],
    ['/policies/films', 'DELETE'],
    ['/policies/films/versions/1', 'PUT', [rule]],
    ['/policies/films/versions/0/assertions', 'POST', rule],
    ['/services/api', 'PUT', { enabled: false }],
    ['/services/api', 'DELETE'],
  ];
  for (const call of [ann, operator]) {
    for (const [path, method, body] of tries) {
      const answer = await call(`${domain}${path}`, send(method, body));
      const isMine = call === operator || !['/quotas', '/accounts/aws'].includes(path);
      t.is(answer.status, isMine ? 409 : 403, `${method} ${path} ${answer.text}`);
    }
  }
  t.is((await operator(domain, send('DELETE'))).status, 409, 'it is enabled, and needs an approval');
});

test('a protected domain is disabled and deleted by approvals alone', async (t) => {
  const domain = await made('doomed');
  await ann(`${domain}/roles/reader`, send('PUT', { approvals: 1 }));
  await ann(domain, send('PUT', { enabled: false }));
  t.regex((await operator(domain, send('DELETE'))).text, /role `doomed:role.reader` needs 1 approval/);
  const id = await asked(operator, domain, 'DELETE');
  const root = await as('user.root');
  await operator(`${base}/domains/sys.auth/roles/admin/members/user.root`, send('PUT', {}));
  t.is((await approve(bob, id)).status, 404, 'who had a role in a disabled domain has none');
  t.is((await approve(root, id)).status, 200);
  t.is((await operator(domain)).status, 404);
});

test('a protected role changes by no way around it', async (t) => {
  const domain = await made('vault');
  const other = await made('beside');
  await ann(`${domain}/groups/team`, send('PUT', { members: ['media.guest'] }));
  await ann(`${domain}/roles/juniors`, send('PUT', { members: ['user.eve'] }));
  await ann(`${domain}/roles/publisher`, send('PUT', { members: ['vault:group.team'], approvals: 1 }));
  await ann(`${other}/groups/club`, send('PUT', { members: ['user.eve'] }));
  const lending = { action: 'assume_role', resource: 'vault:role.publisher', role: 'juniors' };
  const wild = { action: 'assume_*', resource: 'vault:role.pub*', role: 'juniors' };
  const tries: readonly (readonly [path: string, method: string, body?: unknown])[] = [
    ['/roles/publisher', 'PUT', { members: ['user.eve'], approvals: 1 }],
    ['/roles/publisher', 'PUT', { members: ['vault:group.team'] }],
    ['/roles/publisher', 'DELETE'],
    ['/roles/publisher/members/user.eve', 'PUT', {}],
    ['/roles/publisher/members/beside:group.club', 'PUT', {}],
    ['/groups/team', 'PUT', { members: ['user.eve'] }],
    ['/groups/team/members/user.eve', 'PUT', {}],
    ['/groups/team/members/media.guest', 'DELETE'],
    ['/policies/lending', 'PUT', [lending]],
    ['/policies/lending', 'PUT', [wild]],
  ];
  for (const [path, method, body] of tries) {
    const answer = await ann(`${domain}${path}`, send(method, body));
    t.is(answer.status, 409, `${method} ${path} ${answer.text}`);
  }
  t.is((await ann(`${domain}/roles/juniors/members/user.fay`, send('PUT', {}))).status, 201, 'another role is free');
  const trusting = await ann(`${domain}/roles/publisher?request=true`, send('PUT', { trust: 'beside', approvals: 1 }));
  t.is(trusting.status, 409, 'a domain without approvals does not decide who is in it');
});

test('lowering the number needs the old number, and two approvals hold for one effect', async (t) => {
  const domain = await made('double', { approvals: 2 });
  t.is((await ann(domain, send('PUT', { approvals: 1 }))).status, 409);
  const id = await asked(ann, `${domain}/roles/reader`, 'PUT', { members: ['media.player'] });
  t.like((await approve(bob, id)).body, { state: 'open', approvals: [{ by: 'user.bob', current: true }] });
  t.like((await approve(bob, id)).body, { state: 'open', approvals: [{ by: 'user.bob' }] }, 'twice is once');
  const lowering = await asked(ann, domain, 'PUT', { approvals: 1 });
  t.like((await approve(bob, lowering)).body, { state: 'open' });
  t.like((await approve(cid, lowering)).body, { state: 'applied' });
  t.like((await approve(cid, id)).body, { state: 'applied' }, 'the two approvals are of one effect');
});

test('an approval counts no more when its approver may no longer decide', async (t) => {
  const domain = await made('leaving', { approvals: 2 });
  const id = await asked(ann, `${domain}/roles/reader`, 'PUT', { members: ['media.player'] });
  await approve(bob, id);
  const leaving = await asked(ann, `${domain}/roles/admin/members/user.bob`, 'DELETE');
  await approve(cid, leaving);
  const dan = await as('user.dan');
  t.like((await approve(dan, leaving)).body, { state: 'applied' });
  t.like((await approve(cid, id)).body, { state: 'open' });
  t.like((await approve(dan, id)).body, { state: 'applied' });
});

test('an approval of another effect counts no more', async (t) => {
  const domain = await made('moving', { approvals: 2 });
  const free = await made('free');
  await ann(`${free}/roles/reader`, send('PUT', {}));
  const text = (member: string) => `domain: moving
approvals: 2
roles:
  admin: { members: [user.ann, user.bob, user.cid, user.dan] }
  reader: { members: [${member}] }
policies: { films: [{ action: read, resource: film, role: reader }] }
`;
  const files = { files: [{ name: 'moving.yaml', text: text('media.player') }] };
  const digest = Reflect.get(Object((await ann(`${base}/plan`, send('POST', files))).body), 'digest') as string;
  const stored = await ann(`${base}/apply?plan=${digest}&request=true`, send('POST', files));
  t.is(stored.status, 202, stored.text);
  const id = idOf(stored);
  await approve(bob, id);
  const beside = await asked(ann, `${domain}/roles/other`, 'PUT', { members: ['media.guest'] });
  await approve(bob, beside);
  t.like((await approve(cid, beside)).body, { state: 'applied' });
  const seen = await cid(`${requests}/${id}`);
  t.like(seen.body, { seenByAuthor: false, approvals: [{ by: 'user.bob', current: false }] });
  t.like((await approve(cid, id, digestOf(seen))).body, { state: 'open' }, 'it takes two of the present effect');
  t.like((await approve(bob, id)).body, { state: 'applied' });
});

test('nobody approves who asks, would be a member, is no person, or has no right', async (t) => {
  const domain = await made('selves', { approvals: 1 });
  const id = await asked(ann, `${domain}/roles/reader`, 'PUT', { members: ['user.bob'] });
  const forbidden = async (call: typeof ann, pattern: RegExp, of = id) => {
    const answer = await approve(call, of, digestOf(await cid(`${requests}/${of}`)));
    t.is(answer.status, 403, answer.text);
    t.regex(answer.text, pattern);
  };
  await forbidden(ann, /own/);
  await forbidden(await as('user.ann'), /own/);
  const gaining = await bob(`${requests}/${id}`);
  const refused = await bob(`${requests}/${id}/approval`, send('POST', { plan: digestOf(gaining) }));
  t.is(refused.status, 403);
  t.regex(refused.text, /makes `user.bob` a member of `selves:role.reader`/);
  const pattern = await asked(ann, `${domain}/roles/all?allowWildcard=true`, 'PUT', { members: ['user.*'] });
  t.is((await approve(cid, pattern)).status, 403, 'nor by a wildcard');
  t.is((await approve(boss, id, 'A'.repeat(43))).status, 404);
  const robot = await asked(ann, `${domain}/roles/admin/members/media.boss`, 'PUT', {});
  t.is((await approve(cid, robot)).status, 200);
  await forbidden(boss, /only persons approve/);
  t.is((await approve(cid, id)).status, 200);
});

test('a change that its author may no longer make stays open', async (t) => {
  const domain = await made('fallen');
  await ann(`${domain}/roles/reader`, send('PUT', { approvals: 1 }));
  const id = await asked(ann, `${domain}/roles/reader/members/media.player`, 'PUT', {});
  const digest = digestOf(await bob(`${requests}/${id}`));
  t.is((await bob(`${domain}/roles/admin/members/user.ann`, send('DELETE'))).status, 204);
  t.like((await bob(`${requests}/${id}`)).body, {
    state: 'open',
    problem: 'the change cannot be made now: its author has to send it again',
  });
  t.is((await approve(bob, id, digest)).status, 403);
  t.like((await bob(`${requests}/${id}?effect=false`)).body, { state: 'open' });
});

test('of approvals, withdrawals and rejections at once exactly one happens', async (t) => {
  const domain = await made('race', { approvals: 1 });
  for (let turn = 0; turn < 5; turn += 1) {
    const id = await asked(ann, `${domain}/roles/reader${turn}`, 'PUT', {});
    const digest = digestOf(await bob(`${requests}/${id}`));
    const answers = await Promise.all([
      approve(bob, id, digest),
      approve(cid, id, digest),
      ann(`${requests}/${id}`, send('DELETE')),
      bob(`${requests}/${id}/rejection`, send('POST', { comment: 'no' })),
    ]);
    const isDone = ({ status }: { readonly status: number }) => status < 300;
    t.is(answers.filter(isDone).length, 1, JSON.stringify(answers.map(({ status, text }) => [status, text])));
    const made = (await ann(`${domain}/roles/reader${turn}`)).status === 200;
    t.is(made, answers.slice(0, 2).some(isDone));
  }
});

test('an author has 20 open requests, a domain 50, and break-glass goes through', async (t) => {
  const names = ['user.gus', 'user.hal', 'user.ida'];
  const [gus, hal, ida] = await Promise.all(names.map(as));
  if (gus === undefined || hal === undefined || ida === undefined) throw new Error('three people');
  const domain = await made('flood', { admins: names });
  await gus(`${domain}/roles/firefighters`, send('PUT', { members: ['user.gus'] }));
  await gus(
    `${domain}/policies/fire`,
    send('PUT', [{ action: 'break_glass', resource: 'domain', role: 'firefighters' }]),
  );
  await gus(domain, send('PUT', { approvals: 1 }));
  const ask = async (call: typeof ann, name: string) =>
    await call(`${domain}/roles/${name}?request=true`, send('PUT', {}));
  for (let n = 0; n < 20; n += 1) t.is((await ask(gus, `a${n}`)).status, 202);
  const refused = await ask(gus, 'more');
  t.is(refused.status, 429);
  t.is(refused.headers['retry-after'], '60');
  for (let n = 0; n < 20; n += 1) await ask(hal, `b${n}`);
  for (let n = 0; n < 10; n += 1) t.is((await ask(ida, `c${n}`)).status, 202);
  t.regex((await ask(ida, 'more')).text, /domain `flood` has 50 open requests/);
  const fire = await gus(`${domain}/roles/now?breakGlass=true&reason=fire`, send('PUT', {}));
  t.is(fire.status, 201, fire.text);
});

test('requests of others are not there, and bad parameters are refused by name', async (t) => {
  const domain = await made('private', { approvals: 1 });
  const id = await asked(ann, `${domain}/roles/reader`, 'PUT', {});
  const eve = await as('user.eve');
  for (const [method, path, body] of [
    ['GET', ''],
    ['POST', '/approval', { plan: 'A'.repeat(43) }],
    ['POST', '/rejection', { comment: 'no' }],
    ['DELETE', ''],
  ] as const) {
    const [there, absent] = [
      await eve(`${requests}/${id}${path}`, send(method, body)),
      await eve(`${requests}/999999${path}`, send(method, body)),
    ];
    t.is(there.status, 404);
    t.is(there.text.replaceAll(String(id), 'n'), absent.text.replaceAll('999999', 'n'));
  }
  t.deepEqual(Object((await eve(requests)).body).items, []);
  const status = async (path: string, options = send('GET')) => (await ann(path, options)).status;
  t.is(await status(`${requests}?state=done`), 400);
  t.is(await status(`${requests}?awaiting=bob`), 400);
  t.is(await status(`${requests}?other=1`), 400);
  t.is(await status(`${requests}/0`), 400);
  t.is(await status(`${requests}/${id}/approval`, send('POST', { plan: 'short' })), 400);
  t.is(await status(`${requests}/${id}/rejection`, send('POST', {})), 400);
  t.is(await status(requests, send('POST', { role: 'private:role.x', seconds: 59, reason: 'x' })), 400);
  t.is(await status(requests, send('POST', { role: 'private:role.x', seconds: 3600, reason: '' })), 400);
  t.is(await status(requests, send('POST', { role: 'x', seconds: 3600, reason: 'x' })), 400);
  t.is(await status(`${domain}/roles/x?request=true&breakGlass=true`, send('PUT', {})), 400);
  t.is(await status(`${domain}/roles/x?request=true&dryRun=true`, send('PUT', {})), 400);
  const large = {
    description: 'x',
    members: Array.from({ length: 9000 }, (_, n) => `media.member-with-a-long-name-${n}`),
  };
  t.is(await status(`${domain}/roles/x?request=true`, send('PUT', large)), 413);
});

test('one page of the list looks at 2,000 requests, and the next goes on', async (t) => {
  const film = { kind: 'role', domain: parseDomainName('hidden'), role: parseRoleName('reader'), seconds: 60 } as const;
  const request = { author: 'user.other', created: 0, expires: 1, domains: [film.domain], needed: 1, approvals: [] };
  const eve = await as('user.eve');
  await world.server.store.change({ actor: 'test' }, async (transaction) => {
    for (let n = 0; n < 2001; n += 1) await transaction.addRequest({ ...request, state: 'open', content: film });
  });
  const first = Object((await eve(`${requests}?author=user.other`)).body);
  t.deepEqual(first.items, []);
  t.is(typeof first.next, 'string');
  const second = await eve(`${requests}?author=user.other&cursor=${first.next}`);
  t.deepEqual(second.body, { items: [] });
});
