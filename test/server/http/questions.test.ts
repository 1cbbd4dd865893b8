import test from 'ava';
import { send } from '#support/management-world';
import { type Caller, caller, startServer, wholeFile } from '#support/start-server';

/* Why a principal has access, and who has it, asked by callers with different rights. */

const file = wholeFile();
const server = await startServer(file, {
  domains: [
    {
      name: 'sys.auth',
      roles: { admin: ['sys.auth.operator'] },
      policies: { administration: [['ALLOW', 'admin', '*', '*']] },
      services: { operator: {} },
    },
    {
      name: 'films',
      roles: {
        admin: ['media.boss'],
        reader: ['media.player', 'media:group.team', 'user.ann'],
        writer: ['media.player', 'media.edit*'],
        lent: { trust: 'media' },
        viewers: ['media.delegate'],
      },
      policies: {
        access: [
          ['ALLOW', 'reader', 'read', 'film'],
          ['ALLOW', 'lent', 'read', 'film'],
          ['ALLOW', 'writer', 'write', 'film'],
          [
            'ALLOW',
            'reader',
            'stream',
            'film',
            { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'foyer' } } }] },
          ],
        ],
        delegation: [
          ['ALLOW', 'viewers', 'view_domain', 'domain'],
          ['ALLOW', 'viewers', 'view_domain', 'role.reader'],
        ],
      },
    },
    {
      name: 'media',
      services: { player: {}, boss: {}, delegate: {}, guest: {}, hidden: {}, editor: {} },
      groups: { team: ['media.hidden'] },
      roles: { borrowers: ['user.bob'], friends: ['media.boss'] },
      policies: {
        lending: [['ALLOW', 'borrowers', 'assume_role', 'role.none']],
        consent: [['ALLOW', 'friends', 'view_domain', 'group.none']],
      },
    },
  ],
});
const lending = [{ action: 'assume_role', resource: 'films:role.lent', role: 'borrowers' }];
const as = async (name: string) => caller(file, server, await server.pki.identity(name));
const operator = await as('sys.auth.operator');
await operator('^/management/v1/domains/media/policies/lending', send('PUT', lending));
const [boss, delegate, player, guest, hidden, ann] = [
  await as('media.boss'),
  await as('media.delegate'),
  await as('media.player'),
  await as('media.guest'),
  await as('media.hidden'),
  await as('user.ann'),
];

test.after.always(() => file.end());

const explain = async (ask: Caller, query: string) => {
  const { status, body } = await ask(`^/management/v1/explanation?${query}`);
  return { status, ...Object(body) };
};
const who = async (ask: Caller, query: string) => {
  const { status, body } = await ask(`^/management/v1/grantees?${query}`);
  return { status, ...Object(body) };
};

const read = 'action=read&resource=films:film';
const memberOf = (role: string, entry: string) => ({
  role,
  held: true,
  paths: [{ kind: 'member', entry, state: 'counts' }],
});

test('an operator is told all of it, and each caller what it may look at', async (t) => {
  const asked = `${read}&principal=media.hidden`;
  const viaTeam = {
    role: 'reader',
    held: true,
    paths: [{ kind: 'group', group: 'media:group.team', state: 'counts' }],
  };
  const all = await explain(operator, asked);
  t.like(all, { status: 'ALLOW', granted: true, principal: 'media.hidden', switchedOff: false });
  t.deepEqual(all.roles, [viaTeam]);
  t.like(all.decidedBy, {
    policy: 'access',
    assertion: { effect: 'ALLOW', role: 'films:role.reader', action: 'read', resource: 'films:film' },
    heldRole: 'reader',
  });
  t.is(all.hidden, undefined);
  // The administrator sees all of the domain; of its lists a group and a trusted domain are of others.
  t.like(await explain(boss, asked), { granted: false, status: 'DENY_NO_MATCH', roles: [], hidden: 2 });
  // A delegate sees one of five roles, and not the group in it.
  t.like(await explain(delegate, asked), { granted: false, roles: [], hidden: 6 });
});

test('a role that the caller may not look at is left out', async (t) => {
  const asked = 'action=write&resource=films:film&principal=media.player';
  t.like(await explain(boss, asked), { granted: true, decidedBy: { heldRole: 'writer' } });
  const seen = await explain(delegate, asked);
  t.like(seen, { granted: false, status: 'DENY_NO_MATCH', hidden: 6 });
  t.deepEqual(seen.roles, [memberOf('reader', 'media.player')]);
});

test('about itself everybody is told the decision and its roles, with the ways that it may look at', async (t) => {
  t.like(await explain(hidden, read), { granted: true, principal: 'media.hidden', hidden: undefined });
  t.deepEqual((await explain(hidden, read)).roles, [{ role: 'reader', held: true, paths: [] }]);
  t.like(await explain(ann, `${read}&principal=user.ann`), { granted: true });
  t.like(await explain(guest, read), { granted: false, roles: [] });
});

test('an entry that gives nothing is told to those alone who may look at the role', async (t) => {
  const late = '^/management/v1/domains/films/roles/writer/members/media.guest';
  t.is((await operator(late, send('PUT', { disabled: true }))).status, 201);
  t.deepEqual((await explain(guest, read)).roles, []);
  const seen = await explain(boss, `${read}&principal=media.guest`);
  t.deepEqual(seen.roles, [
    { role: 'writer', held: false, paths: [{ kind: 'member', entry: 'media.guest', state: 'disabled' }] },
  ]);
  await operator(late, { method: 'DELETE' });
});

test('a context holds for conditions', async (t) => {
  const asked = 'action=stream&resource=films:film&principal=media.player';
  t.like(await explain(boss, asked), { granted: false });
  t.like(await explain(boss, `${asked}&context.instances=foyer`), { granted: true });
  t.like(await explain(boss, `${asked}&context.instances=attic`), { granted: false });
});

const names = ({ items }: { readonly items?: readonly { readonly principal: string }[] }) =>
  items?.map(({ principal }) => principal);

test('who may: names, members whom the caller may not know, wildcards', async (t) => {
  t.deepEqual(names(await who(operator, read)), ['media.hidden', 'media.player', 'user.ann', 'user.bob']);
  const seen = await who(boss, read);
  t.deepEqual(names(seen), ['media.player', 'user.ann', 'via media:group.team', 'via media:role.borrowers']);
  t.deepEqual(seen.items[2].through, [
    { role: 'reader', held: true, paths: [{ kind: 'group', group: 'media:group.team', state: 'counts' }] },
  ]);
  t.deepEqual(names(await who(boss, 'action=write&resource=films:film')), ['media.player', 'media.edit*']);
});

test('who may comes in pages', async (t) => {
  const found: string[] = [];
  let cursor = '';
  for (let pages = 1; ; pages += 1) {
    const page = await who(boss, `${read}&limit=1${cursor}`);
    found.push(...(names(page) ?? []));
    if (page.next === undefined) {
      t.is(pages, 4);
      break;
    }
    cursor = `&cursor=${page.next}`;
  }
  t.deepEqual(found, names(await who(boss, read)));
});

const others: readonly (readonly [name: string, ask: Caller, why: number, who: number])[] = [
  ['the operator', operator, 200, 200],
  ['an administrator of the domain', boss, 200, 200],
  ['a delegate who may view the domain', delegate, 200, 403],
  ['the principal itself', player, 200, 403],
  ['another service', guest, 403, 403],
  ['another person', ann, 403, 403],
];

for (const [name, ask, why, list] of others) {
  test(`rights: ${name}`, async (t) => {
    const asked = await ask(`^/management/v1/explanation?${read}&principal=media.player`);
    t.is(asked.status, why);
    const listed = await ask(`^/management/v1/grantees?${read}`);
    t.is(listed.status, list);
  });
}

for (const [query, code, message] of [
  ['action=read&resource=nowhere:film', 404, 'domain `nowhere` does not exist'],
  ['action=read&resource=film', 400, 'resource must be `domain:entity`'],
  ['action=read', 400, 'resource is missing'],
  ['action=read&resource=films:film&who=x', 400, undefined],
  ['action=read&resource=films:film&context.colour=red', 400, undefined],
  ['resource=films:film', 400, undefined],
] as const) {
  test(`refused: ${query}`, async (t) => {
    for (const path of ['explanation', 'grantees']) {
      const { status, body } = await boss(`^/management/v1/${path}?${query}`);
      t.is(status, code);
      if (message !== undefined) t.is(Object(body).message, message);
    }
  });
}

test('where checks are restricted, an explanation of another principal takes `access_check` as well', async (t) => {
  const strict = await startServer(t, {
    pki: server.pki,
    options: { 'accessChecks.restricted': true },
    domains: [
      {
        name: 'films',
        roles: { admin: ['media.boss'], checkers: ['media.boss'] },
        policies: { checks: [['ALLOW', 'checkers', 'access_check', 'principal.media.player']] },
      },
      { name: 'media', services: { boss: {}, player: {}, guest: {} } },
    ],
  });
  const ask = caller(t, strict, await server.pki.identity('media.boss'));
  t.is((await explain(ask, `${read}&principal=media.player`)).status, 'DENY_NO_MATCH');
  t.is((await explain(ask, `${read}&principal=media.guest`)).status, 403);
  t.is((await explain(ask, read)).status, 'DENY_NO_MATCH');
});
