import test from 'ava';
import { isNoName } from '#support/invalid-name';
import { caller, startServer, wholeFile } from '#support/start-server';

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
      name: 'catalog',
      roles: { reader: ['media.player'], admin: ['media.owner'] },
      policies: {
        readers: [
          ['ALLOW', 'reader', 'read', 'movie'],
          ['ALLOW', 'reader', 'list', 'movie'],
        ],
      },
    },
    { name: 'media', services: { player: {}, owner: {}, guest: {} } },
  ],
});
const as = async (name: string) => caller(file, server, await server.pki.identity(name));
const [operator, owner, player, guest] = [
  await as('sys.auth.operator'),
  await as('media.owner'),
  await as('media.player'),
  await as('media.guest'),
];
test.after.always('end', () => file.end());

const path = '^/management/v1/access';

test('who may look sees it, the principal its own, a stranger nothing', async (t) => {
  const count = async (ask: typeof operator, query = '?principal=media.player') => {
    const { status, body } = await ask(`${path}${query}`);
    t.is(status, 200);
    return (Object(body).items as readonly unknown[]).length;
  };
  t.deepEqual([await count(operator), await count(owner), await count(player), await count(guest)], [2, 2, 2, 0]);
  t.is(await count(player, ''), 2, 'without a name it is about the caller');
  t.is(await count(guest, ''), 0);
  t.is(await count(guest, '?principal=media.player&domain=nowhere'), 0, 'an unknown domain is as an invisible one');
  t.is(await count(owner, '?principal=media.player&action=list'), 1);
  t.is(await count(owner, '?principal=media.player&domain=media'), 0);
  const first = await owner(`${path}?principal=media.player&limit=1`);
  const { items, next } = Object(first.body);
  t.like(items, [{ policy: 'catalog:policy.readers', through: [{ role: 'reader' }] }]);
  t.is(await count(owner, `?principal=media.player&limit=1&cursor=${next}`), 1);
  t.is(
    (await guest(`${path}?principal=media.player&limit=1&cursor=${next}`)).status,
    400,
    'the cursor of another caller',
  );
});

for (const [query, message] of [
  ['?principal=a..b', `principal ${isNoName('PrincipalName')}`],
  ['?action=re%20ad', `action ${isNoName('ActionName')}`],
  ['?domain=a:b', `domain ${isNoName('DomainName')}`],
  ['?who=x', 'the query has a parameter that is not known here; allowed: principal, action, domain, limit, cursor'],
] as const) {
  test(`${query} is refused`, async (t) => {
    t.deepEqual((await guest(`${path}${query}`)).body, { code: 400, message });
  });
}
