import { parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import type { Status } from '@signet/policy-engine/policy';
import { checkAccess, checksOf } from '@signet/server/access/check-access';
import { InvalidRequestError, UnknownDomainError } from '@signet/server/errors';
import test from 'ava';
import { type DomainSketch, snapshotOf } from '#support/domains';

interface Case {
  readonly note: string;
  readonly rules?: readonly string[];
  readonly domains?: Readonly<Record<string, DomainSketch>>;
  readonly principal?: string;
  readonly action?: string;
  readonly resource?: string;
  readonly trustDomain?: string;
  readonly expect: Status;
}

/** `media.player` is in `reader`, `media.studio` in `reader` and `editor`. */
const roles = { reader: ['media.player', 'media.studio'], editor: ['media.studio'] };
const partner: DomainSketch = {
  roles: { staff: ['media.player'], outside: { trust: 'third' } },
  rules: [
    'allow assume_role catalog:role.reader staff',
    'allow assume_role role.staff staff',
    'deny assume_role catalog:role.secret staff',
    'allow assume_role catalog:role.* staff',
    'allow assume_role catalog:role.reader outside',
  ],
};
const third: DomainSketch = {
  roles: { crew: ['media.guest'] },
  rules: ['allow assume_role partner:role.outside crew'],
};

const cases: readonly Case[] = [
  { note: 'a rule allows', rules: ['allow read movie reader'], expect: 'ALLOW' },
  { note: 'another action', rules: ['allow write movie reader'], expect: 'DENY_NO_MATCH' },
  { note: 'another resource', rules: ['allow read series reader'], expect: 'DENY_NO_MATCH' },
  { note: 'a role that the principal does not hold', rules: ['allow read movie editor'], expect: 'DENY_NO_MATCH' },
  { note: 'no role at all', rules: ['allow read movie reader'], principal: 'media.guest', expect: 'DENY_NO_MATCH' },
  { note: 'no rules at all', expect: 'DENY_DOMAIN_EMPTY' },
  { note: 'a role pattern', rules: ['allow read movie read*'], expect: 'ALLOW' },
  { note: 'a role that does not exist matches nobody', rules: ['allow read movie owner'], expect: 'DENY_NO_MATCH' },
  {
    note: 'DENY wins when it comes last',
    rules: ['allow read movie reader', 'deny read movie reader'],
    expect: 'DENY',
  },
  {
    note: 'DENY wins when it comes first',
    rules: ['deny read movie reader', 'allow read movie reader'],
    expect: 'DENY',
  },
  {
    note: 'DENY through one role beats ALLOW through another',
    rules: ['allow read movie editor', 'deny read movie reader'],
    principal: 'media.studio',
    expect: 'DENY',
  },
  {
    note: 'case does not count',
    rules: ['allow read movie reader'],
    action: 'READ',
    resource: 'Catalog:MOVIE',
    expect: 'ALLOW',
  },
  { note: 'wildcards everywhere', rules: ['allow * * *'], expect: 'ALLOW' },
  {
    note: 'wildcards allow nobody without a role',
    rules: ['allow * * *'],
    principal: 'media.guest',
    expect: 'DENY_NO_MATCH',
  },
  { note: 'a path', rules: ['allow read movie/* reader'], resource: 'catalog:movie/2001/hal', expect: 'ALLOW' },
  {
    note: 'rules about other domains decide nothing here',
    rules: ['allow read partner:movie reader'],
    resource: 'catalog:movie',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'a delegated role counts',
    domains: {
      catalog: { roles: { viewer: { trust: 'partner' } }, rules: ['allow read movie viewer'] },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer staff'] },
    },
    expect: 'ALLOW',
  },
  {
    note: 'assume_role asked of the trust domain',
    domains: { partner },
    action: 'assume_role',
    resource: 'catalog:role.reader',
    trustDomain: 'partner',
    expect: 'ALLOW',
  },
  {
    note: 'assume_role, a pattern',
    domains: { partner },
    action: 'assume_role',
    resource: 'catalog:role.writer',
    trustDomain: 'partner',
    expect: 'ALLOW',
  },
  {
    note: 'assume_role, DENY wins',
    domains: { partner },
    action: 'assume_role',
    resource: 'catalog:role.secret',
    trustDomain: 'partner',
    expect: 'DENY',
  },
  {
    note: 'assume_role, another domain than the rules speak of',
    domains: { partner },
    action: 'assume_role',
    resource: 'elsewhere:role.reader',
    trustDomain: 'partner',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role of a role of the trust domain itself',
    domains: { partner },
    action: 'assume_role',
    resource: 'partner:role.staff',
    trustDomain: 'partner',
    expect: 'ALLOW',
  },
  {
    note: 'assume_role by somebody without a role there',
    domains: { partner },
    principal: 'media.studio',
    action: 'assume_role',
    resource: 'catalog:role.reader',
    trustDomain: 'partner',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role has no second hop',
    domains: { partner, third },
    principal: 'media.guest',
    action: 'assume_role',
    resource: 'catalog:role.reader',
    trustDomain: 'partner',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role where no rule speaks of other domains',
    domains: { partner: { roles: { staff: ['media.player'] }, rules: ['allow * * staff'] } },
    action: 'assume_role',
    resource: 'catalog:role.reader',
    trustDomain: 'partner',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role without a trust domain is asked of the domain of the role',
    rules: ['allow assume_role role.editor reader'],
    domains: { partner },
    action: 'assume_role',
    resource: 'catalog:role.editor',
    expect: 'ALLOW',
  },
  {
    note: 'assume_role by a pattern of roles, which gives nobody the role',
    domains: {
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.reader sta*'] },
    },
    action: 'assume_role',
    resource: 'catalog:role.reader',
    trustDomain: 'partner',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role by a pattern of actions, which gives nobody the role',
    rules: ['allow assume_* role.editor reader', 'allow * * reader'],
    action: 'assume_role',
    resource: 'catalog:role.editor',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role of the own domain by a pattern of its roles, which gives nobody the role',
    rules: ['allow assume_role role.* reader'],
    action: 'assume_role',
    resource: 'catalog:role.editor',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role of a role that does not exist',
    rules: ['allow assume_role role.nothing reader'],
    action: 'assume_role',
    resource: 'catalog:role.nothing',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'assume_role by a role that is held by delegation, which is one hop too many',
    domains: {
      catalog: {
        roles: { viewer: { trust: 'partner' }, editor: ['media.studio'] },
        rules: ['allow assume_role role.editor viewer'],
      },
      partner: { roles: { staff: ['media.player'] }, rules: ['allow assume_role catalog:role.viewer staff'] },
    },
    action: 'assume_role',
    resource: 'catalog:role.editor',
    expect: 'DENY_NO_MATCH',
  },
  {
    note: 'the trust domain is of no interest for other actions',
    rules: ['allow read movie reader'],
    trustDomain: 'nowhere',
    expect: 'ALLOW',
  },
];

function check(options: Omit<Case, 'note' | 'expect'>) {
  const { rules = [], domains = {}, principal = 'media.player', action = 'read', resource = 'catalog:movie' } = options;
  const snapshot = snapshotOf({ catalog: { roles, rules }, ...domains });
  const query = {
    principal: parsePrincipalName(principal),
    action: parseActionName(action),
    resource,
    ...(options.trustDomain === undefined ? {} : { trustDomain: parseDomainName(options.trustDomain) }),
  };
  return checkAccess(snapshot, query, 0);
}

for (const { note, expect, ...options } of cases) {
  test(note, (t) => {
    const { granted, decision } = check(options);
    t.is(decision.status, expect);
    t.is(granted, expect === 'ALLOW');
  });
}

const refusals = [
  {
    note: 'an unknown domain',
    resource: 'nowhere:movie',
    error: UnknownDomainError,
    message: 'domain `nowhere` does not exist',
  },
  {
    note: 'a name of Object',
    resource: '__proto__:movie',
    error: UnknownDomainError,
    message: 'domain `__proto__` does not exist',
  },
  { note: 'no domain', resource: 'movie', error: InvalidRequestError, message: 'resource must be `domain:entity`' },
  {
    note: 'an empty domain',
    resource: ':movie',
    error: InvalidRequestError,
    message: 'resource must be `domain:entity`',
  },
];

for (const { note, resource, error, message } of refusals) {
  test(`refused: ${note}`, (t) => {
    t.throws(() => check({ resource }), { instanceOf: error, message });
  });
}

test('refused: an unknown trust domain', (t) => {
  const ask = () => check({ action: 'assume_role', resource: 'catalog:role.reader', trustDomain: 'nowhere' });
  t.throws(ask, { instanceOf: UnknownDomainError, message: 'domain `nowhere` does not exist' });
});

test('refused: a disabled domain, as if it did not exist', (t) => {
  const ask = () => check({ domains: { catalog: { enabled: false, roles } } });
  t.throws(ask, { instanceOf: UnknownDomainError, message: 'domain `catalog` does not exist' });
});

test('what a check costs grows with the roles that are held, whatever the policy says of them', (t) => {
  const costOf = (count: number, trustDomain?: string) => {
    const names = Array.from({ length: count }, (_, index) => `r${index}`);
    const held = Object.fromEntries(names.map((name) => [name, ['media.player']]));
    const snapshot = snapshotOf({ catalog: { roles: held, rules: ['allow read movie r0'] }, far: {} });
    const query = {
      principal: parsePrincipalName('media.player'),
      action: parseActionName(trustDomain === undefined ? 'read' : 'assume_role'),
      resource: trustDomain === undefined ? 'catalog:movie' : 'far:role.reader',
      ...(trustDomain !== undefined && { trustDomain: parseDomainName(trustDomain) }),
    };
    return checkAccess(snapshot, query, 1).work;
  };
  t.true(costOf(1000) - costOf(1) >= 999 * 20);
  t.is(costOf(1000, 'catalog'), 1000 * 20);
});

test('checks of one principal are answered as each alone, and what it holds is paid once', (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const held = Object.fromEntries(names.map((name) => [name, ['media.player']]));
  const rules = ['allow read movie r0', 'allow read series r1', 'deny read series r2'];
  const snapshot = snapshotOf({ catalog: { roles: held, rules }, other: { roles: held, rules: [] } });
  const principal = parsePrincipalName('media.player');
  const check = checksOf(snapshot, principal, 1);
  const asked = ['catalog:movie', 'catalog:series', 'other:movie', 'catalog:movie'].map((resource) => ({
    action: parseActionName('read'),
    resource,
  }));
  const alone = asked.map((query) => checkAccess(snapshot, { ...query, principal }, 1));
  const together = asked.map(check);
  t.deepEqual(
    together.map(({ granted, decision }) => [granted, decision.status]),
    alone.map(({ granted, decision }) => [granted, decision.status]),
  );
  const saved = together.map(({ work }, index) => (alone[index]?.work ?? 0) - work);
  t.deepEqual(saved, [0, 100 * 20, 0, 100 * 20]);
  t.throws(() => check({ action: parseActionName('read'), resource: 'nowhere:movie' }), {
    instanceOf: UnknownDomainError,
  });
});
