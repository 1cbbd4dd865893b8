import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { directRoles, grantedAmong, grantedRoles } from '@signet/server/roles/granted-roles';
import test from 'ava';
import { type DomainSketch, snapshotOf } from '#support/domains';

const now = 1_000_000;
const [past, future] = [now - 1, now + 1];

interface Case {
  readonly note: string;
  readonly domains: Readonly<Record<string, DomainSketch>>;
  /** Asked about `media.player` in `catalog` unless said otherwise. */
  readonly principal?: string;
  readonly expect: readonly string[];
}

const cases: readonly Case[] = [
  { note: 'no roles at all', domains: { catalog: {} }, expect: [] },
  { note: 'a direct member', domains: { catalog: { roles: { reader: ['media.player'] } } }, expect: ['reader'] },
  { note: 'a service of another name', domains: { catalog: { roles: { reader: ['media.players'] } } }, expect: [] },
  { note: 'a name that only ends alike', domains: { catalog: { roles: { reader: ['x.media.player'] } } }, expect: [] },
  {
    note: 'several roles, sorted by name',
    domains: { catalog: { roles: { writer: ['media.player'], admin: ['media.player'], none: [], reader: ['*'] } } },
    expect: ['admin', 'reader', 'writer'],
  },
  {
    note: 'two roles, sorted by name',
    domains: { catalog: { roles: { writer: ['media.player'], admin: ['media.player'] } } },
    expect: ['admin', 'writer'],
  },
  {
    note: 'role names are whole names: `admin` is not `dbadmin`',
    domains: { catalog: { roles: { admin: [], dbadmin: ['media.player'] } } },
    expect: ['dbadmin'],
  },
  {
    note: 'a member that expired',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', expires: past }] } } },
    expect: [],
  },
  {
    note: 'a member that expires at this very millisecond',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', expires: now }] } } },
    expect: [],
  },
  {
    note: 'a member that expires later',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', expires: future }] } } },
    expect: ['reader'],
  },
  {
    note: 'a member of many roles that expired in one and is disabled in another',
    domains: {
      catalog: {
        roles: {
          r12: ['media.player'],
          r01: [{ name: 'media.player', disabled: true }],
          r09: [{ name: 'media.player', expires: now }],
          ...Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`r${20 + index}`, ['media.player']])),
        },
      },
    },
    expect: ['r12', 'r20', 'r21', 'r22', 'r23', 'r24', 'r25', 'r26'],
  },
  {
    note: 'a group of a disabled domain, which has no members',
    domains: {
      catalog: { roles: { reader: ['media:group.team'], viewer: ['far:group.team'] } },
      media: { enabled: false, groups: { team: ['user.ann'] } },
      far: { groups: { team: ['user.ann'] } },
    },
    principal: 'user.ann',
    expect: ['viewer'],
  },
  {
    note: 'a disabled member',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', disabled: true }] } } },
    expect: [],
  },
  {
    note: 'an expired entry does not hide a wildcard that holds',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', expires: past }, 'media.*'] } } },
    expect: ['reader'],
  },
  {
    note: 'a disabled entry does not hide a wildcard that holds',
    domains: { catalog: { roles: { reader: [{ name: 'media.player', disabled: true }, '*'] } } },
    expect: ['reader'],
  },
  { note: 'everyone', domains: { catalog: { roles: { reader: ['*'] } } }, expect: ['reader'] },
  {
    note: 'everyone, but disabled',
    domains: { catalog: { roles: { reader: [{ name: '*', disabled: true }] } } },
    expect: [],
  },
  { note: 'a domain prefix', domains: { catalog: { roles: { reader: ['media.*'] } } }, expect: ['reader'] },
  {
    note: 'a domain prefix reaches into domains below',
    domains: { catalog: { roles: { reader: ['media.*'] } } },
    principal: 'media.video.player',
    expect: ['reader'],
  },
  {
    note: 'a domain prefix does not reach a longer domain',
    domains: { catalog: { roles: { reader: ['media.*'] } } },
    principal: 'mediator.player',
    expect: [],
  },
  { note: 'a service prefix', domains: { catalog: { roles: { reader: ['media.play*'] } } }, expect: ['reader'] },
  {
    note: 'a prefix that is the whole name',
    domains: { catalog: { roles: { reader: ['media.player*'] } } },
    expect: ['reader'],
  },
  { note: 'a prefix that is longer', domains: { catalog: { roles: { reader: ['media.players*'] } } }, expect: [] },
  {
    note: 'prefixes of several lengths',
    domains: { catalog: { roles: { a: ['m*'], b: ['media.p*'], c: ['media.x*'], d: ['media.player.is.longer*'] } } },
    expect: ['a', 'b'],
  },
  {
    note: 'an expired prefix',
    domains: { catalog: { roles: { reader: [{ name: 'media.*', expires: past }] } } },
    expect: [],
  },
  {
    note: 'a group of the domain itself',
    domains: { catalog: { roles: { reader: ['catalog:group.staff'] }, groups: { staff: ['media.player'] } } },
    expect: ['reader'],
  },
  {
    note: 'a group of another domain',
    domains: {
      catalog: { roles: { reader: ['media:group.staff'] } },
      media: { groups: { staff: ['media.player'] } },
    },
    expect: ['reader'],
  },
  {
    note: 'a group of a domain that is disabled',
    domains: {
      catalog: { roles: { reader: ['partner:group.staff'] } },
      partner: { enabled: false, groups: { staff: ['media.player'] } },
    },
    expect: [],
  },
  {
    note: 'a group that does not exist',
    domains: { catalog: { roles: { reader: ['media:group.staff'] } }, media: {} },
    expect: [],
  },
  {
    note: 'a group without the principal',
    domains: {
      catalog: { roles: { reader: ['media:group.staff'] } },
      media: { groups: { staff: ['media.studio'], others: ['media.player'] } },
    },
    expect: [],
  },
  {
    note: 'a membership of the group that expired',
    domains: {
      catalog: { roles: { reader: ['media:group.staff'] } },
      media: { groups: { staff: [{ name: 'media.player', expires: past }] } },
    },
    expect: [],
  },
  {
    note: 'a disabled member of the group',
    domains: {
      catalog: { roles: { reader: ['media:group.staff'] } },
      media: { groups: { staff: [{ name: 'media.player', disabled: true }] } },
    },
    expect: [],
  },
  {
    note: 'the group as a member expired',
    domains: {
      catalog: { roles: { reader: [{ name: 'media:group.staff', expires: past }] } },
      media: { groups: { staff: ['media.player'] } },
    },
    expect: [],
  },
  {
    note: 'the group as a member is disabled',
    domains: {
      catalog: { roles: { reader: [{ name: 'media:group.staff', disabled: true }] } },
      media: { groups: { staff: ['media.player'] } },
    },
    expect: [],
  },
  {
    note: 'the group holds twice, one way expired',
    domains: {
      catalog: { roles: { reader: ['media:group.a', 'media:group.b'] } },
      media: { groups: { a: [{ name: 'media.player', expires: past }], b: ['media.player'] } },
    },
    expect: ['reader'],
  },
  {
    note: 'a delegated role',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer staff'] },
    },
    expect: ['viewer'],
  },
  {
    note: 'a delegated role for a group of the trusted domain',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: {
        roles: { staff: ['partner:group.people'] },
        groups: { people: ['media.player'] },
        rules: ['allow assume_role catalog:role.viewer staff'],
      },
    },
    expect: ['viewer'],
  },
  {
    note: 'a delegated role through a pattern of the trusted domain',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' }, other: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.*'] }, rules: ['allow assume_role catalog:role.v?ew* staff'] },
    },
    expect: ['viewer'],
  },
  {
    note: 'a trusted domain that says nothing',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] } },
    },
    expect: [],
  },
  {
    note: 'a trusted domain that speaks of another role',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.view staff'] },
    },
    expect: [],
  },
  {
    note: 'a trusted domain whose rule is a DENY',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['deny assume_role catalog:role.viewer staff'] },
    },
    expect: [],
  },
  {
    note: 'a trusted domain whose DENY stands beside the ALLOW of another role',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: {
        roles: { staff: ['media.player'], guests: ['media.player'] },
        rules: ['allow assume_role catalog:role.viewer staff', 'deny assume_role catalog:role.viewer guests'],
      },
    },
    expect: ['viewer'],
  },
  {
    note: 'a trusted domain whose rule is about another action',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_* catalog:role.viewer staff'] },
    },
    expect: [],
  },
  {
    note: 'a trusted domain whose rule names its role by a pattern',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer st*'] },
    },
    expect: [],
  },
  {
    note: 'a domain that is not trusted',
    domains: {
      catalog: { roles: { viewer: { trust: 'somebody' } } },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer staff'] },
      somebody: {},
    },
    expect: [],
  },
  {
    note: 'a trusted domain that is disabled',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: {
        enabled: false,
        roles: { staff: ['media.player'] },
        rules: ['allow assume_role catalog:role.viewer staff'],
      },
    },
    expect: [],
  },
  {
    note: 'a trusted domain that does not exist',
    domains: { catalog: { roles: { viewer: { trust: 'partner' } } } },
    expect: [],
  },
  {
    note: 'delegation has one hop',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: { roles: { staff: { trust: 'third' } }, rules: ['allow assume_role catalog:role.viewer staff'] },
      third: { roles: { crew: ['media.player'] }, rules: ['allow assume_role partner:role.staff crew'] },
    },
    expect: [],
  },
  {
    note: 'a delegation that ended with the membership over there',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } } },
      partner: {
        roles: { staff: [{ name: 'media.player', expires: past }] },
        rules: ['allow assume_role catalog:role.viewer staff'],
      },
    },
    expect: [],
  },
  {
    note: 'a role assumed inside the domain',
    domains: {
      catalog: {
        roles: { editor: ['media.player'], reader: [], other: [] },
        rules: ['allow assume_role role.reader editor'],
      },
    },
    expect: ['editor', 'reader'],
  },
  {
    note: 'inside the domain the name must be exact',
    domains: {
      catalog: { roles: { editor: ['media.player'], reader: [] }, rules: ['allow assume_role role.* editor'] },
    },
    expect: ['editor'],
  },
  {
    note: 'inside the domain it is one hop as well',
    domains: {
      catalog: {
        roles: { a: ['media.player'], b: [], c: [] },
        rules: ['allow assume_role role.b a', 'allow assume_role role.c b'],
      },
    },
    expect: ['a', 'b'],
  },
  {
    note: 'a DENY policy takes no role away',
    domains: { catalog: { roles: { reader: ['media.player'] }, rules: ['deny * * reader'] } },
    expect: ['reader'],
  },
  {
    note: 'a service that is disabled holds nothing, not even through `*`',
    domains: {
      catalog: { roles: { reader: ['*', 'media.player'] } },
      media: { services: [{ name: 'player', enabled: false }] },
    },
    expect: [],
  },
  {
    note: 'a service of a domain that is disabled holds nothing',
    domains: { catalog: { roles: { reader: ['*'] } }, media: { enabled: false, services: ['player'] } },
    expect: [],
  },
  {
    note: 'a user',
    domains: { catalog: { roles: { reader: ['user.jane'] } } },
    principal: 'jane',
    expect: ['reader'],
  },
  ...['__proto__', 'constructor', 'tostring', 'hasownproperty'].map((name) => ({
    note: `a principal called ${name}`,
    domains: { catalog: { roles: { reader: ['media.player'] } } },
    principal: `media.${name}`,
    expect: [],
  })),
];

for (const { note, domains, principal = 'media.player', expect } of cases) {
  test(note, (t) => {
    const snapshot = snapshotOf(domains);
    const domain = snapshot.domain(parseDomainName('catalog'));
    if (domain === undefined) return t.fail('no domain');
    const name = parsePrincipalName(principal);
    const names = (roles: readonly { readonly name: string }[]) => roles.map((role) => role.name);
    t.deepEqual(names(grantedRoles(snapshot, domain, name, now)), expect);
    const every = new Set([...domain.roles.keys(), parseRoleName('no-such')].toReversed());
    t.deepEqual(names(grantedAmong(snapshot, domain, name, { asked: every, now })), expect, 'all asked for by name');
    for (const role of domain.roles.keys()) {
      const held: readonly string[] = expect.includes(role) ? [role] : [];
      t.deepEqual(names(grantedAmong(snapshot, domain, name, { asked: new Set([role]), now })), held, `only ${role}`);
    }
  });
}

test('direct roles leave delegation out', (t) => {
  const snapshot = snapshotOf({
    catalog: {
      roles: { viewer: { trust: 'partner' }, reader: ['media.player'], assumed: [] },
      rules: ['allow assume_role role.assumed reader'],
    },
    partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer staff'] },
  });
  const domain = snapshot.domain(parseDomainName('catalog'));
  if (domain === undefined) return t.fail('no domain');
  const names = (roles: readonly { readonly name: string }[]) => roles.map((role) => role.name);
  t.deepEqual(names(directRoles(snapshot, domain, parsePrincipalName('media.player'), now)), ['reader']);
  t.deepEqual(names(grantedRoles(snapshot, domain, parsePrincipalName('media.player'), now)), [
    'assumed',
    'reader',
    'viewer',
  ]);
});

test('a role asked for is found among a thousand without reading them', (t) => {
  const roles = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`r${index}`, ['media.player']]));
  const snapshot = snapshotOf({ catalog: { roles: { ...roles, other: ['media.other'] } } });
  const [catalog, player] = [parseDomainName('catalog'), parsePrincipalName('media.player')];
  const domain = snapshot.domain(catalog);
  const members = snapshot.members.get(catalog);
  if (domain === undefined || members === undefined) return t.fail('no domain');
  let reads = 0;
  const watched = new Proxy(members.names.get(player) ?? [], {
    get(list, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
      return Reflect.get(list, key);
    },
  });
  t.is(watched.length, 1000);
  const watching = new Map([[catalog, { ...members, names: new Map([[player, watched]]) }]]);
  const ask = (role: string) => {
    reads = 0;
    const asked = new Set([parseRoleName(role)]);
    return grantedAmong({ ...snapshot, members: watching }, domain, player, { asked, now }).length;
  };
  for (const index of [0, 1, 499, 998, 999]) {
    t.is(ask(`r${index}`), 1);
    t.true(reads <= 20, `${reads} entries were read`);
  }
  t.is(ask('other'), 0);
  t.true(reads <= 20, `${reads} entries were read`);
});

test('a look-up does not slow down with the number of members', (t) => {
  const members = Array.from({ length: 100_000 }, (_, index) => `media.s${index}`);
  const snapshot = snapshotOf({ catalog: { roles: { reader: members, other: ['media.s5'] } } });
  const listed = snapshot.members.get(parseDomainName('catalog'))?.names;
  t.is(listed?.size, 100_000);
  t.deepEqual(
    listed?.get('media.s5')?.map(({ list }) => String(list)),
    ['reader', 'other'],
  );
  t.is(listed?.get('media.s6'), listed?.get('media.s7'), 'names in the same roles share what says so');
});
