import { parseDomainName, parsePolicyName, parsePrincipalName } from '@signet/policy-engine/names';
import { maxWork } from '@signet/policy-engine/policy';
import { ForbiddenError } from '@signet/server/errors';
import { isOperator, mayOperateSome, type Right, rightsOf } from '@signet/server/management/rights';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { type DomainSketch, domainContent, snapshotOf, stored } from '#support/domains';

/* Management rights: administrators, operators, and delegates by an assertion that names the right. */

const media = parseDomainName('media');
const boss = 'user.boss';
const joe = 'user.joe';

interface Ask {
  readonly rules?: readonly string[];
  readonly system?: readonly string[];
  readonly caller?: string;
  readonly right?: Right;
  readonly object?: string;
  readonly systemOnly?: boolean;
  readonly domain?: DomainSketch;
}

function world({ rules = [], system = [], domain = {} }: Ask) {
  const roles = { admin: [boss], reader: ['user.ann'], keepers: [joe], other: ['user.eve', joe] };
  return snapshotOf({
    media: { roles, rules, ...domain },
    'sys.auth': { roles: { ops: ['user.op'], admin: ['user.sys'], all: [boss] }, rules: system },
  });
}

/** `admin`, `delegate`, or why it is refused. */
function outcome(ask: Ask): string {
  const { caller = joe, right = 'manage_members', object = 'role.reader', systemOnly } = ask;
  const query = { right, domain: media, object, ...(systemOnly !== undefined && { systemOnly }) };
  try {
    const { isAdmin } = rightsOf(world(ask), parsePrincipalName(caller), 1).require(query);
    return isAdmin ? 'admin' : 'delegate';
  } catch (error) {
    // Who can grant it, which `path-rights.test.ts` asserts, is left out.
    if (error instanceof ForbiddenError) return error.message.replace(`\`${caller}\``, 'caller').replace(/: .*/, '');
    throw error;
  }
}

const lacks = 'caller lacks `manage_members` on `media:role.reader`';
const give = 'allow manage_members role.* keepers';
const operate = 'allow manage_members domain.media ops';
const administer = 'allow manage_domain domain.media ops';
const lead = 'allow manage_members domain.* admin';
const cases: [note: string, ask: Ask, expected: string][] = [
  ['an administrator', { caller: boss }, 'admin'],
  ['somebody in another role', {}, lacks],
  ['somebody in no role', { caller: 'user.nobody', rules: [give] }, lacks],
  ['an operator', { caller: 'user.op', system: [operate] }, 'delegate'],
  ['an operator of another domain', { caller: 'user.op', system: ['allow manage_members domain.far ops'] }, lacks],
  [
    'an administrator where only an operator may',
    { caller: boss, systemOnly: true },
    'caller lacks `manage_members` on `media` in `sys.auth`',
  ],
  ['an operator where only he may', { caller: 'user.op', system: [operate], systemOnly: true }, 'delegate'],
  ['an operator of the whole domain', { caller: 'user.op', system: [administer], right: 'manage_domain' }, 'admin'],
  ['an operator with this right and the whole domain', { caller: 'user.op', system: [operate, administer] }, 'admin'],
  ['an operator of the whole domain without this right', { caller: 'user.op', system: [administer] }, lacks],
  ['an administrator of `sys.auth` whom its policy gives it', { caller: 'user.sys', system: [operate, lead] }, 'admin'],
  ['an administrator of `sys.auth` whom it gives nothing', { caller: 'user.sys', system: [operate] }, lacks],
  ['an administrator with a right of `sys.auth` as well', { caller: boss, system: ['allow * * all'] }, 'admin'],
  ['a delegate', { rules: [give] }, 'delegate'],
  ['a delegate by a pattern of the right', { rules: ['allow manage_* role.reader keepers'] }, 'delegate'],
  ['a delegate by a rule in capitals', { rules: ['allow MANAGE_Members ROLE.reader keepers'] }, 'delegate'],
  ['a delegate by a pattern of roles', { rules: ['allow manage_members role.reader k*'] }, 'delegate'],
  ['who has a rule that names nothing', { rules: ['allow * role.reader keepers'] }, lacks],
  ['who has one for all beside his own', { rules: ['allow * * keepers', give] }, 'delegate'],
  ['who has another right', { rules: ['allow manage_keys role.* keepers', 'allow * * keepers'] }, lacks],
  ['who has it on another object', { rules: ['allow manage_members group.* keepers', 'allow * * keepers'] }, lacks],
  ['who has it in another role', { rules: ['allow manage_members role.* reader', 'allow * * keepers'] }, lacks],
  ['from whom a rule takes it', { rules: [give, 'deny manage_members role.reader other'] }, lacks],
  ['whom a rule for another denies it', { rules: [give, 'deny manage_members role.reader reader'] }, 'delegate'],
  [
    'whose DENY elsewhere names the right',
    { rules: ['allow * role.reader keepers', 'deny manage_members role.other keepers'] },
    lacks,
  ],
  ['a delegate of a disabled domain', { rules: [give], domain: { enabled: false } }, lacks],
  ['an administrator of a disabled domain', { caller: boss, domain: { enabled: false } }, lacks],
];
for (const [note, ask, expected] of cases) {
  test(`a right of ${note}`, (t) => t.is(outcome(ask), expected));
}

test('rules that take more work to compare than one decision may give nothing', (t) => {
  const costly = (count: number) =>
    Array.from({ length: count }, (_, index) => `allow manage_members role.*x${index}?z keepers`);
  t.is(outcome({ rules: [...costly(10), give] }), 'delegate');
  t.is(outcome({ rules: [...costly(20_000), give] }), lacks);
  // The first that gives the right is enough.
  t.is(outcome({ rules: [give, ...costly(20_000)] }), 'delegate');
});

const sees = (ask: Ask, object = 'role.reader') =>
  rightsOf(world(ask), parsePrincipalName(ask.caller ?? joe), 1).sees(media, object);

test('who may manage anything of an object may look at it, and nobody else', (t) => {
  t.true(sees({ caller: boss }));
  t.true(sees({ caller: 'user.op', system: ['allow view_domain domain.media ops'] }));
  t.false(sees({ caller: 'user.op', system: [operate] }));
  t.false(sees({}));
  t.false(sees({ rules: ['allow * * keepers'] }));
  t.true(sees({ rules: ['allow view_domain role.reader keepers'] }));
  for (const right of ['manage_domain', 'manage_members', 'manage_policies', 'manage_services', 'manage_keys']) {
    t.true(sees({ rules: [`allow ${right} role.reader keepers`] }), right);
    t.false(sees({ rules: [`allow ${right} role.reader keepers`] }, 'role.other'), right);
  }
  t.false(sees({ caller: 'user.nobody', rules: ['allow view_domain role.reader *'] }));
  t.false(sees({ rules: ['allow view_domain role.reader keepers'], domain: { enabled: false } }));
});

test('only who sees the whole domain sees all of it', (t) => {
  const all = (ask: Ask) => rightsOf(world(ask), parsePrincipalName(ask.caller ?? joe), 1);
  t.true(all({ caller: boss }).seesAll(media));
  const delegate = all({ rules: ['allow view_domain * keepers'] });
  t.deepEqual([delegate.seesAll(media), delegate.sees(media, 'role.reader')], [false, true]);
  const query = { caller: parsePrincipalName('user.op'), right: 'manage_members', domain: media } as const;
  t.true(isOperator(world({ system: [operate] }), query, 1));
  t.false(isOperator(world({ system: [operate, 'deny manage_members domain.media ops'] }), query, 1));
  t.false(isOperator(snapshotOf({}), query, 1));
});

test('the rules of a domain are read once, however many of its objects somebody wants to look at', (t) => {
  const snapshot = world({ rules: ['allow * * keepers', 'allow read movie keepers'] });
  const domain = snapshot.domain(media);
  if (domain === undefined) return t.fail();
  let reads = 0;
  const policies = domain.policies.map((policy) => ({
    ...policy,
    get assertions() {
      reads += 1;
      return policy.assertions;
    },
  }));
  const domains = new Map(snapshot.domains).set(media, { ...domain, policies });
  const counted = { ...snapshot, domains, domain: (name: typeof media) => domains.get(name) };
  for (let round = 0; round < 3; round += 1) {
    const viewer = rightsOf(counted, parsePrincipalName(joe), 1);
    for (let index = 0; index < 10; index += 1) t.false(viewer.sees(media, `role.r${index}`));
  }
  t.is(reads, 2, 'for the rights to manage, and for those written without wildcards');
});

test('whether somebody may look at an object costs little more than one decision, and is told', (t) => {
  const costly = Array.from({ length: 20_000 }, (_, index) => `allow manage_* role.*x${index}?z keepers`);
  const costOf = (rules: readonly string[]) => {
    let cost = 0;
    const compared = (work: number) => {
      cost += work;
    };
    rightsOf(world({ rules }), parsePrincipalName(joe), 1, compared).sees(media, 'role.reader');
    return cost;
  };
  const [little, much] = [costOf(['allow manage_members role.other keepers']), costOf(costly)];
  t.true(little > 0 && little < 1000, String(little));
  t.true(much > maxWork && much < 3 * maxWork, String(much));
});

test('who may operate some domain has an active rule of sys.auth that may name the right', (t) => {
  const may = (system: readonly string[], caller = 'user.op') =>
    mayOperateSome(world({ system }), parsePrincipalName(caller), 'manage_members', 1);
  t.true(may([operate]));
  t.true(may(['allow MANAGE_* domain.far OPS']));
  t.true(may(['allow * * *']));
  t.false(may([]));
  t.false(may(['allow manage_keys domain.media ops']));
  t.false(may(['allow manage_members domain.media others']));
  t.false(may(['deny manage_members domain.media ops']));
  t.false(may([operate], boss));
  t.false(mayOperateSome(snapshotOf({}), parsePrincipalName('user.op'), 'manage_members', 1));
  const content = domainContent('sys.auth', { roles: { ops: ['user.op'] }, rules: [operate] });
  const [policy] = content.policies;
  if (policy === undefined) return t.fail();
  const withPolicy = (active: boolean): boolean => {
    const { snapshot } = compileSnapshot(undefined, {
      state: { epoch: 1, counter: 1, head: '' },
      domains: [stored({ ...content, policies: [{ ...policy, active }] })],
      deleted: [],
      signingKeys: [],
    });
    return mayOperateSome(snapshot, parsePrincipalName('user.op'), 'manage_members', 1);
  };
  t.deepEqual([withPolicy(true), withPolicy(false)], [true, false]);
});

test('a rule of a version that is not active, or with conditions, gives no right; one active policy among others does', (t) => {
  const content = domainContent('media', { roles: { keepers: [joe] }, rules: [give, 'allow * * keepers'] });
  const [policy] = content.policies;
  if (policy === undefined) return t.fail();
  const [named, bare] = policy.assertions;
  if (named === undefined || bare === undefined) return t.fail();
  const conditioned = {
    ...named,
    conditions: { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } }] },
  };
  const isGiven = (...policies: readonly (typeof policy)[]): boolean => {
    const { snapshot } = compileSnapshot(undefined, {
      state: { epoch: 1, counter: 1, head: '' },
      domains: [stored({ ...content, policies })],
      deleted: [],
      signingKeys: [],
    });
    return rightsOf(snapshot, parsePrincipalName(joe), 1).sees(media, 'role.reader');
  };
  const all = { ...policy, assertions: [bare] };
  t.true(isGiven({ ...policy, assertions: [named] }));
  t.false(isGiven(all, { ...policy, version: '1', assertions: [named], active: false }));
  t.true(isGiven(all, { ...policy, name: parsePolicyName('more'), assertions: [named] }));
  t.false(isGiven({ ...policy, assertions: [bare, conditioned] }));
});
