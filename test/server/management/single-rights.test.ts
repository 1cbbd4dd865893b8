import { type AuthorityAction, authorityActions, type Right, rights } from '@signet/server/access/authority';
import test from 'ava';
import { type Goal, goals, systemGoals } from '#support/escalation-goals';
import { send } from '#support/management-world';
import { ecPair } from '#support/requests';
import { type Holder, holderOf, type RightsWorld, rightsWorld } from '#support/single-rights';
import { caller, startServer, wholeFile } from '#support/start-server';

/*
 * With this single right: who can become whom, read what, change what. Each cell is asked of a running server of each profile. A right
 * that is new in the code has no row, and fails.
 */

type GoalName = keyof typeof goals | keyof typeof systemGoals;
/** Reached in both profiles, or in the profile `athenz` alone. */
type Reached = GoalName | `athenz: ${GoalName}`;
/** `target`: the domain that the right is given for, or in; what is left out reaches nothing. */
type Places = Partial<Readonly<Record<'target' | 'other' | 'sys.auth', readonly Reached[]>>>;

const viewing: readonly Reached[] = ['reads roles', 'reads changes'];
const plainKey: readonly Reached[] = ['is plain by key', 'athenz: is plain by refresh'];
const administering: readonly Reached[] = ['adds administrators', 'makes roles', 'changes limits', 'changes quotas'];

/** `sys.auth` gives the right on `sys.auth:domain.<target>`. */
const one: Readonly<Record<Right, Places>> = {
  view_domain: { target: viewing },
  manage_domain: { target: administering },
  manage_members: { target: ['adds members'] },
  manage_policies: { target: ['writes policies'] },
  manage_services: { target: ['makes services'] },
  manage_keys: { target: plainKey },
};

/** `sys.auth` gives the right on `sys.auth:*`. Who has a part of the rights of a domain may look at it, of `sys.auth` too. */
const all: Readonly<Record<AuthorityAction, Places>> = {
  view_domain: { other: viewing, 'sys.auth': [...viewing, 'reads the audit log'] },
  manage_domain: { other: administering, 'sys.auth': [...viewing, ...administering, 'makes domains'] },
  manage_members: { other: ['adds members'], 'sys.auth': viewing },
  manage_policies: { other: ['writes policies'], 'sys.auth': viewing },
  manage_services: { other: ['makes services'], 'sys.auth': viewing },
  manage_keys: { other: plainKey, 'sys.auth': viewing },
  assume_role: { 'sys.auth': ['has a role'] },
  assume_aws_role: { 'sys.auth': ['is in the cloud'] },
  ssh_login: { 'sys.auth': ['logs in'] },
  // Takes the same right of the domain of the instance, and an instance to vouch for.
  launch: {},
  update: { 'sys.auth': ['is plain by join token', 'is chief by join token'] },
  delete: { 'sys.auth': ['deletes instances'] },
  revoke: { 'sys.auth': ['revokes SSH'] },
  access_check: { 'sys.auth': ['asks about others'] },
  // Nobody with a role in `sys.auth` that the holder does not have.
  issue_certificate: { other: ['is plain by certificate', 'is chief by certificate'], 'sys.auth': ['is a person'] },
  // Given by exact names alone.
  approve_changes: {},
  break_glass: {},
  apply_reviewed: {},
};

/** The policy of the target gives the right on `<target>:*`. */
const own: Readonly<Record<AuthorityAction, Places>> = {
  view_domain: { target: viewing },
  manage_domain: { target: [...viewing, 'makes roles', 'changes limits'] },
  manage_members: { target: [...viewing, 'adds members'] },
  manage_policies: { target: [...viewing, 'writes policies'] },
  manage_services: { target: [...viewing, 'makes services'] },
  manage_keys: { target: [...viewing, ...plainKey] },
  assume_role: { target: ['has a role'] },
  assume_aws_role: { target: ['is in the cloud'] },
  ssh_login: { target: ['logs in'] },
  launch: {},
  update: { target: ['is plain by join token', 'is chief by join token'] },
  delete: { target: ['deletes instances'] },
  // Asked of `sys.auth` alone, as the next but one.
  revoke: {},
  access_check: { target: ['asks about others'] },
  issue_certificate: {},
  approve_changes: {},
  break_glass: {},
  apply_reviewed: {},
};

const holders = [
  ...rights.map((right) => ({ holder: holderOf('one', right), expected: one[right] })),
  ...authorityActions.map((right) => ({ holder: holderOf('all', right), expected: all[right] })),
  ...authorityActions.map((right) => ({ holder: holderOf('own', right), expected: own[right] })),
];
const file = wholeFile();
const worlds = [];
for (const profile of ['signet', 'athenz'] as const) {
  worlds.push(
    await rightsWorld(
      file,
      profile,
      holders.map(({ holder }) => holder),
    ),
  );
}
test.after.always(() => file.end());

/** Goals that the principal reaches at a place. */
async function reachedAt(world: RightsWorld, { principal, tag }: Pick<Holder, 'principal' | 'tag'>, domain: string) {
  const call = await world.as(principal);
  const tried: Readonly<Record<string, Goal>> = domain === 'sys.auth' ? { ...goals, ...systemGoals } : goals;
  const reached: string[] = [];
  for (const [name, goal] of Object.entries(tried)) {
    if (await goal({ world, call, principal, domain, tag })) reached.push(name);
  }
  return reached.sort();
}

function named(reached: readonly Reached[], profile: RightsWorld['profile']): string[] {
  const names: readonly string[] = reached;
  return names
    .flatMap((name) => (name.startsWith('athenz: ') ? (profile === 'athenz' ? [name.slice(8)] : []) : [name]))
    .sort();
}

for (const world of worlds) {
  const { profile } = world;

  for (const { holder, expected } of holders) {
    const { grant, right, target } = holder;
    test.serial(`${profile}: ${right}, given ${grant}`, async (t) => {
      t.timeout(300_000);
      const found: Record<string, readonly string[]> = {};
      if (grant !== 'all') found['target'] = await reachedAt(world, holder, target);
      for (const domain of ['other', 'sys.auth']) found[domain] = await reachedAt(world, holder, domain);
      const { target: inTarget = [], other = [], 'sys.auth': inSystem = [] } = expected;
      t.deepEqual(found, {
        ...(grant !== 'all' && { target: named(inTarget, profile) }),
        other: named(other, profile),
        'sys.auth': named(inSystem, profile),
      });
    });
  }

  test.serial(`${profile}: without a right nothing is reached, and an administrator reaches everything`, async (t) => {
    t.timeout(300_000);
    const none = { principal: 'keeper.none', tag: 'none' };
    t.deepEqual([await reachedAt(world, none, 'other'), await reachedAt(world, none, 'sys.auth')], [[], []]);
    const operator = { principal: 'sys.auth.operator', tag: 'operator' };
    t.deepEqual(await reachedAt(world, operator, 'other'), Object.keys(goals).sort());
    t.deepEqual(await reachedAt(world, operator, 'sys.auth'), Object.keys({ ...goals, ...systemGoals }).sort());
  });
}

test('no key of a service that holds a role in `sys.auth`, in whichever way, is registered by a right to manage keys', async (t) => {
  const server = await startServer(file, {
    domains: [
      {
        name: 'sys.auth',
        services: { operator: {} },
        roles: {
          admin: ['sys.auth.operator'],
          keyers: ['media.keyer'],
          direct: ['media.direct'],
          grouped: ['far:group.crew'],
          prefixed: ['media.pre*'],
          trusting: { trust: 'far' },
        },
        policies: {
          administration: [['ALLOW', 'admin', '*', '*']],
          keys: [['ALLOW', 'keyers', 'manage_keys', 'domain.media']],
        },
      },
      { name: 'far', roles: { lead: ['media.trusted'] }, groups: { crew: ['media.grouped'] } },
      {
        name: 'media',
        services: { keyer: {}, plain: {}, direct: {}, grouped: {}, prefixed: {}, trusted: {} },
      },
    ],
  });
  const operator = caller(file, server, await server.pki.identity('sys.auth.operator'));
  const keyer = caller(file, server, await server.pki.identity('media.keyer'));
  const base = '^/management/v1/domains';
  const rule = { action: 'assume_role', resource: 'sys.auth:role.trusting', role: 'lead' };
  t.is((await operator(`${base}/far/policies/lending`, send('PUT', [rule]))).status, 201);
  const pem = ecPair().publicKey.export({ type: 'spki', format: 'pem' });
  const put = async (service: string, id = '0') =>
    (await keyer(`${base}/media/services/${service}/keys/${id}`, send('PUT', { pem }))).status;
  const refused = ['keyer', 'direct', 'grouped', 'prefixed', 'trusted'];
  t.deepEqual(await Promise.all(refused.map((service) => put(service))), [403, 403, 403, 403, 403]);
  t.is(await put('plain'), 201);
  t.like((await operator(`${base}/media/services/plain/keys/0`)).body, { delegated: true });
  // A key that is a delegate's keeps its service out of `sys.auth`, by a wildcard too.
  const all = `${base}/sys.auth/roles/direct/members/*?allowWildcard=true`;
  t.is((await operator(all, send('PUT', {}))).status, 409);
  t.is((await operator(`${base}/media/services/plain/keys/0`, send('PUT', { pem }))).status, 200);
  t.is((await operator(all, send('PUT', {}))).status, 201);
  t.is(await put('plain', '1'), 403);
});
