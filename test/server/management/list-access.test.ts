import { type DomainName, parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { maxWork } from '@signet/policy-engine/policy';
import { type AccessEntry, keyOfEntry, listAccessInSteps } from '@signet/server/management/list-access';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import { type PlainDomain, plainSnapshot } from '#support/plain-domains';

const now = 1_700_000_000_000;
const plain = (name: string) => ({ name, disabled: false });

const world: readonly PlainDomain[] = [
  {
    name: 'catalog',
    roles: {
      reader: [plain('media.player'), plain('media:group.team')],
      editor: [plain('media.ed*')],
      gone: [{ name: 'media.player', disabled: false, expires: now - 1 }],
      boss: [],
    },
    trusts: { lent: 'media' },
    rules: [
      ['ALLOW', 'reader', 'read', 'movie'],
      ['ALLOW', 'reader', 'read', 'secret'],
      ['DENY', 'r*', 'read', 'secret'],
      ['ALLOW', 'reader', '*', 'shelf/*'],
      ['DENY', 'reader', 'list', 'cellar', [{ instances: 'host-1' }]],
      ['ALLOW', 'reader', 'list', 'cellar'],
      ['ALLOW', 'lent', 'write', 'movie'],
      ['ALLOW', 'gone', 'write', 'movie'],
      ['ALLOW', 'boss', 'delete', 'movie'],
      ['ALLOW', 'editor', 'assume_role', 'role.boss'],
    ],
  },
  {
    name: 'media',
    groups: { team: ['user.jane'] },
    roles: { borrower: [plain('user.joe')] },
    rules: [['ALLOW', 'borrower', 'assume_role', 'catalog:role.lent']],
    servicesOff: ['off'],
  },
];
const snapshot = plainSnapshot(world, now);
const all = { isSelf: false, sees: () => true };

interface Asked {
  readonly action?: string;
  readonly domain?: string;
}

function entries(principal: string, asked: Asked = {}, known: { isSelf: boolean; sees: typeof sees } = all) {
  const deps = { snapshot, now, looked: () => undefined, compared: () => undefined, ...known };
  const query = {
    principal: parsePrincipalName(principal),
    ...(asked.action !== undefined && { action: parseActionName(asked.action) }),
    ...(asked.domain !== undefined && { domain: parseDomainName(asked.domain) }),
  };
  return runAtOnce(listAccessInSteps(deps, query, { after: '', limit: Number.POSITIVE_INFINITY }));
}
const sees = (_domain: DomainName, _object: string): boolean => true;

const brief = ({ effect, action, resource, denied, through }: AccessEntry) =>
  [effect, action, resource, ...(denied === true ? ['denied'] : []), ...through.map(({ role }) => role)].join(' ');

const cases: readonly (readonly [principal: string, asked: Asked, listed: readonly string[]])[] = [
  [
    'media.player',
    {},
    [
      'ALLOW read catalog:movie reader',
      'ALLOW read catalog:secret denied reader',
      'DENY read catalog:secret reader',
      'ALLOW * catalog:shelf/* reader',
      'DENY list catalog:cellar reader',
      'ALLOW list catalog:cellar reader',
    ],
  ],
  [
    'media.player',
    { action: 'read' },
    [
      'ALLOW read catalog:movie reader',
      'ALLOW read catalog:secret denied reader',
      'DENY read catalog:secret reader',
      'ALLOW * catalog:shelf/* reader',
    ],
  ],
  ['media.player', { domain: 'media' }, []],
  ['media.player', { domain: 'nowhere' }, []],
  ['media.editor', {}, ['ALLOW delete catalog:movie boss', 'ALLOW assume_role catalog:role.boss editor']],
  ['user.joe', {}, ['ALLOW write catalog:movie lent', 'ALLOW assume_role catalog:role.lent borrower']],
  ['user.nobody', {}, []],
  ['media.off', {}, []],
];
for (const [principal, asked, listed] of cases) {
  test(`${principal} ${JSON.stringify(asked)}: ${listed.length}`, (t) => {
    t.deepEqual(entries(principal, asked).map(brief), listed);
  });
}

test('an entry says the assertion, and every way into the role', (t) => {
  t.deepEqual(entries('user.jane', { action: 'list' })[1], {
    domain: 'catalog' as DomainName,
    policy: 'catalog:policy.rules',
    id: 5,
    effect: 'DENY',
    action: 'list',
    resource: 'catalog:cellar',
    conditions: { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'host-1' } } }] },
    through: [{ role: 'reader', paths: [{ kind: 'group', group: 'media:group.team', state: 'counts' }] }],
  } as never);
  t.deepEqual(entries('user.joe')[0]?.through, [
    { role: 'lent', paths: [{ kind: 'delegated', domain: 'media', from: 'borrower' }] },
  ] as never);
  t.deepEqual(entries('media.editor')[0]?.through, [
    { role: 'boss', paths: [{ kind: 'assumed', from: 'editor' }] },
  ] as never);
});

test('who may not look is told nothing, and of other domains nothing beside the role', (t) => {
  const only = (...objects: readonly string[]) => ({
    isSelf: false,
    sees: (domain: DomainName, object: string) => objects.includes(`${domain}:${object}`),
  });
  t.deepEqual(entries('user.jane', {}, only()), []);
  t.deepEqual(entries('user.jane', {}, only('catalog:role.reader', 'media:group.team')), []);
  t.deepEqual(entries('user.jane', {}, only('catalog:domain', 'catalog:role.editor')), []);
  const paths = (seen: ReturnType<typeof only>) => entries('user.jane', {}, seen)[0]?.through[0]?.paths.length;
  t.is(paths(only('catalog:domain', 'catalog:role.reader')), 0);
  t.is(paths(only('catalog:domain', 'catalog:role.reader', 'media:group.team')), 1);
});

test('a principal is told its own access everywhere, and not through what', (t) => {
  const self = { isSelf: true, sees: () => false };
  t.deepEqual(entries('user.joe', {}, self).map(brief), entries('user.joe').map(brief));
  t.deepEqual(
    entries('user.joe', {}, self).flatMap(({ through }) => through.map(({ paths }) => paths.length)),
    [0, 0],
  );
});

test('pages put together are the list', (t) => {
  const whole = entries('media.player');
  const deps = { snapshot, now, looked: () => undefined, compared: () => undefined, ...all };
  const query = { principal: parsePrincipalName('media.player') };
  const pages: AccessEntry[] = [];
  for (let after = ''; ; ) {
    const page = runAtOnce(listAccessInSteps(deps, query, { after, limit: 2 }));
    const last = page.at(-1);
    if (last === undefined) break;
    pages.push(...page);
    after = keyOfEntry(last);
  }
  t.deepEqual(pages, whole);
});

test('of many roles and ways at most twenty are listed', (t) => {
  const count = 21;
  const numbers = Array.from({ length: count }, (_, index) => String(index).padStart(2, '0'));
  const listed = (size: number) => {
    const names = numbers.slice(0, size);
    const wide = plainSnapshot(
      [
        { name: 'teams', groups: Object.fromEntries(names.map((name) => [`g${name}`, ['media.player']])) },
        {
          name: 'wide',
          roles: {
            ...Object.fromEntries(names.map((name) => [`r${name}`, [plain('media.player')]])),
            grouped: names.map((name) => plain(`teams:group.g${name}`)),
          },
          rules: [
            ['ALLOW', 'r*', 'read', 'movie'],
            ['ALLOW', 'grouped', 'read', 'movie'],
          ],
        },
      ],
      now,
    );
    const deps = { snapshot: wide, now, looked: () => undefined, compared: () => undefined, ...all };
    const query = { principal: parsePrincipalName('media.player') };
    return runAtOnce(listAccessInSteps(deps, query, { after: '', limit: 10 })).map(({ through }) =>
      Math.max(through.length, through[0]?.paths.length ?? 0),
    );
  };
  t.deepEqual(listed(20), [20, 20]);
  t.deepEqual(listed(21), [20, 20]);
});

test('a hundred thousand assertions are looked at in slices, and paid', (t) => {
  const size = 100_000;
  const rules = Array.from({ length: size }, (_, index) => ['ALLOW', 'reader', 'read', `object${index}`] as const);
  const big = plainSnapshot([{ name: 'big', roles: { reader: [plain('media.player')] }, rules }], now);
  let rows = 0;
  let compared = 0;
  const deps = {
    snapshot: big,
    now,
    ...all,
    looked: (count: number) => {
      rows += count;
    },
    compared: (work: number) => {
      compared += work;
    },
  };
  const steps = listAccessInSteps(deps, { principal: parsePrincipalName('media.player') }, { after: '', limit: 100 });
  let yields = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) yields += 1;
  t.is(step.value.length, 100);
  t.is(rows, size + 2);
  t.true(yields > size, 'others have their turn');
  t.true(compared > 0 && compared < 100_000, `only the page is decided: ${compared}`);
});

/** Domain pairs: each of `count` roles of the one may assume, by costly patterns, roles of the other, which trusts it. */
function lending(count: number): readonly PlainDomain[] {
  const names = Array.from({ length: count }, (_, index) => `r${index}`);
  const costly = `catalog:role.${'r*'.repeat(20)}q`;
  return [
    {
      name: 'catalog',
      roles: { all: [plain('user.joe')] },
      trusts: Object.fromEntries(names.map((name) => [`lent.${name}`, 'media'])),
      rules: [['ALLOW', 'all', 'read', 'movie']],
    },
    {
      name: 'media',
      roles: Object.fromEntries(['any', ...names].map((name) => [name, [plain('user.joe')]])),
      rules: [
        ['ALLOW', 'any', 'assume_role', 'catalog:role.lent.*'],
        ...names.flatMap((name) =>
          Array.from({ length: 20 }, (_, index) => ['ALLOW', name, 'assume_role', `${costly}${index}`] as const),
        ),
      ],
    },
  ];
}

/** Number of look-ups of assumable roles, and the reported cost, of a list of one principal's access. */
function costOfWays(domains: readonly PlainDomain[]) {
  let [lookUps, work] = [0, 0];
  const before = plainSnapshot(domains, now);
  const counted = new Map(
    [...before.domains].map(([name, domain]) => {
      const assumable = new Map(domain.assumable);
      const get = assumable.get.bind(assumable);
      assumable.get = (role) => {
        lookUps += 1;
        return get(role);
      };
      return [name, { ...domain, assumable }];
    }),
  );
  const world = { ...before, domains: counted, domain: (name: DomainName) => counted.get(name) };
  const told = {
    looked: () => undefined,
    compared: (more: number) => {
      work += more;
    },
  };
  const deps = { snapshot: world, now, isSelf: true, sees, ...told };
  const query = { principal: parsePrincipalName('user.joe'), domain: parseDomainName('catalog') };
  const found = runAtOnce(listAccessInSteps(deps, query, { after: '', limit: 10 }));
  return { found: found.length, lookUps, work };
}

test('the ways into many roles take work that grows with their number, and is told', (t) => {
  const roles = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`r${index}`, [plain('user.joe')]]));
  const rules = Object.keys(roles).map((role) => ['ALLOW', role, 'assume_role', 'catalog:role.r0'] as const);
  const own = costOfWays([{ name: 'catalog', roles, rules }]);
  t.is(own.found, 10);
  t.true(own.lookUps <= 200, `${own.lookUps} look-ups for 50 roles`);
  const lent = costOfWays(lending(50));
  t.is(lent.found, 1);
  t.true(lent.lookUps <= 300, `${lent.lookUps} look-ups for 50 roles in two domains`);
  t.true(lent.work > maxWork && lent.work < 50 * 1.1 * maxWork, `work ${lent.work}`);
});

test('comparing actions with patterns is told', (t) => {
  const rules = [['ALLOW', 'all', `*${'l'.repeat(100)}0*`, 'movie'] as const];
  const domain = { name: 'catalog', roles: { all: [plain('user.joe')] }, rules };
  let work = 0;
  const compared = (more: number) => {
    work += more;
  };
  const deps = { snapshot: plainSnapshot([domain], now), now, isSelf: true, sees, looked: () => undefined, compared };
  const query = { principal: parsePrincipalName('user.joe'), action: parseActionName('l'.repeat(200)) };
  t.deepEqual(runAtOnce(listAccessInSteps(deps, query, { after: '', limit: 10 })), []);
  t.true(work > 200, String(work));
});
