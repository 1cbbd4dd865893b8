import { generateKeyPairSync } from 'node:crypto';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { parseIdTokenRequest } from '@signet/server/oauth/id-token-request';
import { type IdTokenDeps, issueIdToken } from '@signet/server/oauth/issue-id-token';
import { type IssueTokensDeps, issueTokens } from '@signet/server/oauth/issue-tokens';
import { issueRoleToken, type RoleTokenDeps } from '@signet/server/oauth/role-token';
import { parseScope } from '@signet/server/oauth/scope';
import type { Principal } from '@signet/server/principals/principal';
import test from 'ava';
import fc from 'fast-check';
import { type DomainSketch, type MemberSketch, snapshotOf } from '#support/domains';

/* No token outlives the memberships that give its roles: each way into a role, with and without an end. */

const start = 1_000_000;
/** A fraction of a second late: whole seconds count from the second that has begun. */
const now = start * 1000 + 400;
const player = parsePrincipalName('media.player');
const principal = { kind: 'identity', name: player, thumbprint: 'print' } as Principal;

function depsFor(domains: Readonly<Record<string, DomainSketch>>): RoleTokenDeps {
  const snapshot = snapshotOf(domains);
  const sign = (claims: string) => claims;
  return {
    snapshot: () => snapshot,
    keys: { current: () => ({ accessToken: { sign }, idToken: { sign } }) },
    clock: { now: () => now },
    newTokenId: () => 'id',
    issuer: 'https://issuer.test',
    bounds: { defaultExpirySeconds: 7200, maxExpirySeconds: 7200, longestExpirySeconds: 7200 },
    bound: true,
    idTokens: true,
  } as unknown as IssueTokensDeps as RoleTokenDeps;
}

/** Names of the roles of a token and its life, or the name of the error. */
function issued(domains: Readonly<Record<string, DomainSketch>>, scope: string, expiresInSeconds?: number) {
  try {
    const request = { scope: parseScope(scope), expiresInSeconds } as never;
    const { tokens } = issueTokens(depsFor(domains), principal, request);
    const { iat, exp, scp } = JSON.parse(tokens.access_token) as { iat: number; exp: number; scp: string[] };
    if (iat !== start || exp - iat !== tokens.expires_in) throw new RangeError('claims and answer differ');
    return [tokens.expires_in, ...scp];
  } catch (error) {
    return error instanceof Error ? error.name : error;
  }
}

const ends = (name: string, seconds: number): MemberSketch => ({ name, expires: (start + seconds) * 1000 });
const lends = ['allow assume_role catalog:role.reader staff'];
const pattern = ['allow assume_role catalog:role.read* guests'];
const lent = (staff: MemberSketch, more: DomainSketch = {}) => ({
  catalog: { roles: { reader: { trust: 'partner' } } },
  partner: { roles: { staff: [staff] }, rules: lends, ...more },
});
const own = (staff: MemberSketch) => ({ catalog: { roles: { reader: [], staff: [staff] }, rules: lends } });
const grouped = (entry: MemberSketch, member: MemberSketch) => ({
  catalog: { roles: { reader: [entry] } },
  media: { groups: { team: [member] } },
});
const read = (...members: MemberSketch[]) => ({ catalog: { roles: { reader: members } } });
const group = 'media:group.team';

const ways: readonly (readonly [note: string, Readonly<Record<string, DomainSketch>>, life: number | undefined])[] = [
  ['a direct entry without end', read('media.player'), 7200],
  ['a direct entry', read(ends('media.player', 60)), 60],
  ['a direct entry that outlives the token', read(ends('media.player', 7201)), 7200],
  ['a direct entry that ends with the token', read(ends('media.player', 7200)), 7200],
  ['a direct entry that ends a second before it', read(ends('media.player', 7199)), 7199],
  ['a prefix', read(ends('media.*', 60)), 60],
  ['everybody', read(ends('*', 60)), 60],
  ['the later of two entries', read(ends('media.player', 60), ends('media.*', 90)), 90],
  ['an entry that ends, and one that does not', read(ends('media.player', 60), '*'), 7200],
  ['a group whose entry ends', grouped(ends(group, 60), 'media.player'), 60],
  ['a member of a group that ends', grouped(group, ends('media.player', 60)), 60],
  ['the sooner of both', grouped(ends(group, 90), ends('media.player', 60)), 60],
  ['the sooner of both, the other way round', grouped(ends(group, 60), ends('media.player', 90)), 60],
  ['a role of the domain that may assume it', own(ends('media.player', 60)), 60],
  ['a trusted domain', lent(ends('media.player', 60)), 60],
  ['a group of a trusted domain', lent('partner:group.team', { groups: { team: [ends('media.player', 60)] } }), 60],
  [
    'the later of two roles of a trusted domain, one of them by a pattern',
    lent('media.player', {
      roles: { staff: [ends('media.player', 60)], guests: [ends('media.player', 90)] },
      rules: [...lends, ...pattern],
    }),
    90,
  ],
  ['an entry that ends in a second', read({ name: 'media.player', expires: now + 1000 }), 1],
  ['an entry that ends within the second', read({ name: 'media.player', expires: now + 999 }), undefined],
  ['an entry that ends between two seconds', read({ name: 'media.player', expires: now + 5000 }), 5],
];
for (const [note, domains, life] of ways) {
  test(`the life of a token: ${note}`, (t) => {
    const expected = life === undefined ? 'NoGrantedRolesError' : [life, 'reader'];
    t.deepEqual(issued(domains, 'catalog:role.reader'), expected);
    if (!note.includes('may assume')) return t.deepEqual(issued(domains, 'catalog:domain'), expected);
    // Both roles are held.
    return t.deepEqual(issued(domains, 'catalog:domain'), [life, 'reader', 'staff']);
  });
}

const several = {
  catalog: {
    roles: {
      lasting: ['media.player'],
      month: [ends('media.player', 2_592_000)],
      hour: [ends('media.player', 3600)],
      gone: [{ name: 'media.player', expires: now + 100 }],
    },
  },
} satisfies Record<string, DomainSketch>;

test('of several roles the first to end counts, and one that ends within the second is left out', (t) => {
  t.deepEqual(issued(several, 'catalog:domain'), [3600, 'hour', 'lasting', 'month']);
  t.deepEqual(issued(several, 'catalog:role.lasting catalog:role.month'), [7200, 'lasting', 'month']);
  t.deepEqual(issued(several, 'catalog:role.gone catalog:role.lasting'), [7200, 'lasting']);
});

test('a longer life that is asked for is lowered, a shorter one is given', (t) => {
  t.deepEqual(issued(several, 'catalog:role.hour', 7000), [3600, 'hour']);
  t.deepEqual(issued(several, 'catalog:role.hour', 60), [60, 'hour']);
});

const signing = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const otherTokens = {
  ...depsFor(several),
  keys: { current: () => ({ token: { kid: 'k', ...signing }, idToken: { sign: (claims: string) => claims } }) },
  host: 'host',
  newSalt: () => 'salt',
  suffixes: [],
} as unknown as RoleTokenDeps & IdTokenDeps;

test('a role token ends as an access token does', (t) => {
  const scope = { kind: 'all-roles', domain: parseDomainName('catalog') } as const;
  const { token, expiryTime } = issueRoleToken(otherTokens, principal, { scope, requestedSeconds: undefined });
  t.is(expiryTime, start + 3600);
  t.regex(token, /;r=hour,lasting,month;.*;e=1003600;/);
});

const idTokens: readonly (readonly [scope: string, groups: readonly string[] | undefined, life: number])[] = [
  ['openid', undefined, 3600],
  ['openid catalog:role.lasting', ['lasting'], 3600],
  ['openid catalog:role.lasting catalog:role.short', ['lasting', 'short'], 900],
  ['openid catalog:group.team', ['team'], 600],
  ['openid catalog:role.none', [], 3600],
  ['openid groups roles', ['team', 'lasting', 'short'], 600],
];
for (const [scope, groups, life] of idTokens) {
  test(`the life of an ID token: ${scope}`, (t) => {
    const snapshot = snapshotOf({
      catalog: {
        roles: { lasting: ['media.player'], short: [ends('media.player', 900)] },
        groups: { team: [ends('media.player', 600)] },
        services: ['api'],
      },
    });
    const client = 'catalog.api';
    const query = new Map(
      Object.entries({ response_type: 'id_token', client_id: client, nonce: 'once', output: 'json', scope }),
    );
    const request = parseIdTokenRequest(query);
    const { idToken, expires } = issueIdToken({ ...otherTokens, snapshot: () => snapshot }, principal, request);
    t.is(expires, start + life);
    t.deepEqual((JSON.parse(idToken) as { groups?: readonly string[] }).groups, groups);
  });
}

/* The same by a second implementation: the end of every way, one by one. */

type World = Readonly<Record<'catalog' | 'partner', DomainSketch>>;

const untilOf = (entry: MemberSketch) =>
  (typeof entry === 'string' ? undefined : entry.expires) ?? Number.POSITIVE_INFINITY;
const nameOf = (entry: MemberSketch) => (typeof entry === 'string' ? entry : entry.name);

function listedEnd(world: World, domain: keyof World, role: string): number {
  const members = world[domain].roles?.[role] ?? [];
  if ('trust' in members) return 0;
  return Math.max(0, ...members.map((entry) => Math.min(untilOf(entry), coverEnd(world, nameOf(entry)))));
}

function coverEnd(world: World, name: string): number {
  const [domain, team] = name.split(':group.');
  if (team !== undefined) {
    const members = world[domain === 'partner' ? 'partner' : 'catalog'].groups?.[team] ?? [];
    return Math.max(0, ...members.filter((entry) => nameOf(entry) === player).map(untilOf));
  }
  const isCovered = name.endsWith('*') ? player.startsWith(name.slice(0, -1)) : name === player;
  return isCovered ? Number.POSITIVE_INFINITY : 0;
}

function endOf(world: World, role: string): number {
  const roles = world.catalog.roles ?? {};
  const trusts = 'trust' in (roles[role] ?? []);
  const assumed = (['catalog', 'partner'] as const).flatMap((domain) =>
    (world[domain].rules ?? []).flatMap((rule) => {
      const [, , resource = '', from = ''] = rule.split(' ');
      const fits =
        resource === `catalog:role.${role}` ||
        (domain === 'partner' && resource.endsWith('*') && `catalog:role.${role}`.startsWith(resource.slice(0, -1)));
      return fits && (domain === 'catalog' || trusts) ? [listedEnd(world, domain, from)] : [];
    }),
  );
  return Math.max(listedEnd(world, 'catalog', role), ...assumed);
}

const end = fc.option(
  fc.integer({ min: -2000, max: 9_000_000 }).map((later) => now + later),
  { nil: undefined, freq: 3 },
);
const entry = (...names: string[]) =>
  fc
    .record({ name: fc.constantFrom(...names), expires: end })
    .map(({ name, expires }): MemberSketch => (expires === undefined ? name : { name, expires }));
const list = fc.uniqueArray(entry(player, 'media.*', '*', 'media.studio', 'catalog:group.g', 'partner:group.g'), {
  maxLength: 4,
  selector: nameOf,
});
const groups = fc.record({ g: fc.uniqueArray(entry(player, 'media.studio'), { maxLength: 2, selector: nameOf }) });
const rules = (...sources: string[]) =>
  fc.uniqueArray(
    fc
      .tuple(fc.constantFrom('a', 'b', 'lent', 'l*', '*'), fc.constantFrom(...sources))
      .map(([target, from]) => `allow assume_role catalog:role.${target} ${from}`),
    { maxLength: 3 },
  );
const worlds: fc.Arbitrary<World> = fc.record({
  catalog: fc.record({
    roles: fc.record({ a: list, b: list, lent: fc.constant({ trust: 'partner' }) }),
    groups,
    rules: rules('a', 'b'),
  }),
  partner: fc.record({ roles: fc.record({ x: list, y: list }), groups, rules: rules('x', 'y') }),
});

test('property: the life of a token is that of a second implementation, which looks at every way', (t) => {
  const check = (world: World, asked: readonly string[], seconds: number) => {
    const lives = asked.map((role) => [role, Math.floor(endOf(world, role) / 1000) - start] as const);
    const held = lives.filter(([role]) => endOf(world, role) - now >= 1000);
    const expected =
      held.length === 0
        ? 'NoGrantedRolesError'
        : [Math.min(seconds, ...held.map(([, life]) => life)), ...held.map(([role]) => role)];
    const scope = asked.map((role) => `catalog:role.${role}`).join(' ');
    t.deepEqual(issued(world, scope, seconds), expected);
    if (asked.length === 3) t.deepEqual(issued(world, 'catalog:domain', seconds), expected);
  };
  fc.assert(
    fc.property(worlds, fc.subarray(['a', 'b', 'lent'], { minLength: 1 }), fc.integer({ min: 1, max: 7200 }), check),
  );
});
