import { parseActionName, parsePrincipalName } from '@signet/policy-engine/names';
import { explainAccess, explainAccessInSteps } from '@signet/server/access/explain-access';
import { listGrantees } from '@signet/server/access/list-grantees';
import { InvalidRequestError, UnknownDomainError } from '@signet/server/errors';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import { snapshotOf } from '#support/domains';
import { plainSnapshot } from '#support/plain-domains';

const now = 1_700_000_000_000;
const plain = (name: string) => ({ name, disabled: false });

const snapshot = plainSnapshot(
  [
    {
      name: 'catalog',
      roles: {
        reader: [
          plain('media.player'),
          { name: 'media.old', disabled: false, expires: now - 1 },
          plain('media:group.team'),
        ],
        editor: [plain('media.ed*'), { name: 'media.player', disabled: true }],
        boss: [],
      },
      trusts: { lent: 'media' },
      rules: [
        ['ALLOW', 'reader', 'read', 'movie'],
        ['ALLOW', 'lent', 'read', 'movie'],
        ['ALLOW', 'boss', 'read', 'movie'],
        ['ALLOW', 'editor', 'assume_role', 'role.boss'],
        ['DENY', 'reader', 'read', 'secret'],
        ['ALLOW', '*', 'read', 'secret'],
      ],
    },
    {
      name: 'media',
      groups: { team: ['user.jane'] },
      roles: { borrower: [plain('user.joe')] },
      rules: [['ALLOW', 'borrower', 'assume_role', 'catalog:role.lent']],
      servicesOff: ['player2'],
    },
  ],
  now,
);
const read = parseActionName('read');

test('what a pattern seems to let somebody assume is explained as it is decided', (t) => {
  const own = plainSnapshot(
    [
      {
        name: 'catalog',
        roles: { reader: [plain('user.ann')], editor: [] },
        rules: [['ALLOW', 'read*', 'assume_role', 'role.editor']],
      },
    ],
    now,
  );
  const query = {
    principal: parsePrincipalName('user.ann'),
    action: parseActionName('assume_role'),
    resource: 'catalog:role.editor',
  };
  t.like(explainAccess(own, query, now), { granted: false, status: 'DENY_NO_MATCH' });
  t.false('decidedBy' in explainAccess(own, query, now));
  t.deepEqual(listGrantees(own, query, now), []);
});

function ways(principal: string, resource = 'catalog:movie') {
  const query = { principal: parsePrincipalName(principal), action: read, resource };
  const { granted, status, roles } = explainAccess(snapshot, query, now);
  return { granted, status, roles };
}

const cases: readonly (readonly [string, ReturnType<typeof ways>])[] = [
  [
    'media.player',
    {
      granted: true,
      status: 'ALLOW',
      roles: [
        { role: 'editor', held: false, paths: [{ kind: 'member', entry: 'media.player', state: 'disabled' }] },
        { role: 'reader', held: true, paths: [{ kind: 'member', entry: 'media.player', state: 'counts' }] },
      ] as never,
    },
  ],
  [
    'media.old',
    {
      granted: false,
      status: 'DENY_NO_MATCH',
      roles: [
        { role: 'reader', held: false, paths: [{ kind: 'member', entry: 'media.old', state: 'expired' }] },
      ] as never,
    },
  ],
  [
    'user.jane',
    {
      granted: true,
      status: 'ALLOW',
      roles: [
        { role: 'reader', held: true, paths: [{ kind: 'group', group: 'media:group.team', state: 'counts' }] },
      ] as never,
    },
  ],
  [
    'media.edith',
    {
      granted: true,
      status: 'ALLOW',
      roles: [
        { role: 'boss', held: true, paths: [{ kind: 'assumed', from: 'editor' }] },
        { role: 'editor', held: true, paths: [{ kind: 'member', entry: 'media.ed*', state: 'counts' }] },
      ] as never,
    },
  ],
  [
    'user.joe',
    {
      granted: true,
      status: 'ALLOW',
      roles: [{ role: 'lent', held: true, paths: [{ kind: 'delegated', domain: 'media', from: 'borrower' }] }] as never,
    },
  ],
  ['user.nobody', { granted: false, status: 'DENY_NO_MATCH', roles: [] }],
];
for (const [principal, expected] of cases) {
  test(`explained: ${principal}`, (t) => {
    t.deepEqual(ways(principal), expected);
  });
}

test('a denial names the rule, and what would help', (t) => {
  const query = { principal: parsePrincipalName('media.player'), action: read, resource: 'catalog:secret' };
  const explained = explainAccess(snapshot, query, now);
  t.is(explained.status, 'DENY');
  t.is(explained.decidedBy?.assertion.effect, 'DENY');
  t.is(explained.changes[0]?.kind, 'remove-assertion');
});

test('who may: names before wildcards, each with its ways', (t) => {
  const holders = listGrantees(snapshot, { action: read, resource: 'catalog:movie' }, now);
  t.deepEqual(
    holders.map(({ principal, through }) => `${principal} ${through.map(({ role }) => role).join()}`),
    ['media.player reader', 'user.jane reader', 'user.joe lent', 'media.ed* boss'],
  );
});

test('a domain that does not exist', (t) => {
  t.throws(() => listGrantees(snapshot, { action: read, resource: 'nothing:movie' }, now), {
    instanceOf: UnknownDomainError,
  });
});

for (const resource of ['movie', ':movie']) {
  test(`who may: a resource without a domain, ${resource}`, (t) => {
    const expected = { instanceOf: InvalidRequestError, message: 'resource must be `domain:entity`' };
    t.throws(() => listGrantees(snapshot, { action: read, resource }, now), expected);
  });
}

test('who may: a role that would allow it but is not held is no way', (t) => {
  const domain = {
    name: 'catalog',
    roles: { reader: [plain('media.player')], late: [{ name: 'media.player', disabled: false, expires: now }] },
    rules: [
      ['ALLOW', 'reader', 'read', 'movie'],
      ['ALLOW', 'late', 'read', 'movie'],
    ],
  } as const;
  const holders = listGrantees(plainSnapshot([domain], now), { action: read, resource: 'catalog:movie' }, now);
  t.deepEqual(
    holders.map(({ through }) => through.map(({ role }) => role)),
    [['reader']],
  );
});

test('a member whose end is this very millisecond is expired, one a millisecond later counts', (t) => {
  const until = (expires: number) => [{ name: 'media.player', disabled: false, expires }];
  const at = { name: 'catalog', roles: { ended: until(now), open: until(now + 1) } };
  const query = { principal: parsePrincipalName('media.player'), action: read, resource: 'catalog:movie' };
  const { roles } = explainAccess(plainSnapshot([at], now), query, now);
  t.deepEqual(
    roles.map(({ role, paths }) => [role, ...paths.map((path) => 'state' in path && path.state)]),
    [
      ['ended', 'expired'],
      ['open', 'counts'],
    ],
  );
});

test('an entry that does not count says so, whatever the group that it names holds', (t) => {
  const domain = {
    name: 'catalog',
    roles: { off: [{ name: 'catalog:group.team', disabled: true }], other: [plain('catalog:group.others')] },
    groups: { team: ['user.jane'], others: ['user.joe'] },
  };
  const query = { principal: parsePrincipalName('user.jane'), action: read, resource: 'catalog:movie' };
  t.deepEqual(explainAccess(plainSnapshot([domain], now), query, now).roles, [
    { role: 'off', held: false, paths: [{ kind: 'group', group: 'catalog:group.team', state: 'disabled' }] },
  ] as never);
});

test('of several rules that lend roles, only those that fit the role are ways into it', (t) => {
  const lender = {
    name: 'media',
    roles: { borrower: [plain('user.joe')] },
    rules: [
      ['ALLOW', 'borrower', 'assume_role', 'catalog:role.lent'],
      ['ALLOW', 'borrower', 'assume_role', 'catalog:role.other'],
    ],
  } as const;
  const domain = { name: 'catalog', trusts: { lent: 'media', kept: 'media', orphan: 'nowhere' } };
  const query = { principal: parsePrincipalName('user.joe'), action: read, resource: 'catalog:movie' };
  const { roles } = explainAccess(plainSnapshot([domain, lender], now), query, now);
  t.deepEqual(roles, [
    { role: 'lent', held: true, paths: [{ kind: 'delegated', domain: 'media', from: 'borrower' }] },
  ] as never);
});

test('a membership of a group that has expired does not count, though the entry of the group does', (t) => {
  const staff = [{ name: 'user.jane', expires: now }];
  const world = snapshotOf({ catalog: { roles: { reader: ['catalog:group.staff'] }, groups: { staff } } });
  const query = { principal: parsePrincipalName('user.jane'), action: read, resource: 'catalog:movie' };
  t.deepEqual(explainAccess(world, query, now).roles, [
    { role: 'reader', held: false, paths: [{ kind: 'group', group: 'catalog:group.staff', state: 'expired' }] },
  ] as never);
});

test('who is disabled is told so, and a longer name is somebody else', (t) => {
  const services = ['player', { name: 'old', enabled: false }];
  const world = snapshotOf({ catalog: { roles: { reader: ['media.player'] } }, media: { services } });
  const ask = (name: string) =>
    explainAccess(world, { principal: parsePrincipalName(name), action: read, resource: 'catalog:movie' }, now);
  t.deepEqual(
    ['media.player', 'media.old', 'media.playex', 'media.players'].map((name) => {
      const { switchedOff, roles } = ask(name);
      return [switchedOff, roles.length];
    }),
    [
      [false, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ],
  );
});

test('an explanation names what is missing within its work, and past it the decision alone', (t) => {
  const query = { principal: parsePrincipalName('user.nobody'), action: read, resource: 'catalog:movie' };
  const explained = (reasonsWork?: number) => {
    let spent = 0;
    const compared = (work: number) => {
      spent += work;
    };
    const steps = explainAccessInSteps(snapshot, query, {
      now,
      compared,
      ...(reasonsWork !== undefined && { reasonsWork }),
    });
    return { ...runAtOnce(steps), spent };
  };
  const plain = explained().spent;
  const all = explained(1_000_000);
  const needed = all.spent - plain;
  t.true(needed > 0);
  t.true(all.nearMisses.length > 0 && all.changes.length > 0);
  t.deepEqual(explained(needed), all);
  t.like(explained(needed - 1), { status: all.status, granted: false, nearMisses: [], changes: [] });
});
