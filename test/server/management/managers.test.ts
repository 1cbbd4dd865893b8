import { changesManagers, isMemberInPower, powerIn } from '@signet/server/management/managers';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { stored } from '#support/domains';
import { costlyDecisions } from '#support/turns';

/* Each way to touch who has authority by itself, so that no other rule refuses in its place. */

const plain = ['ALLOW', 'reader', 'read', 'film'] as const;
const power = ['ALLOW', 'keepers', 'manage_members', 'role.reader'] as const;
const usual: DomainSketch = {
  name: 'media',
  roles: {
    admin: ['user.boss', 'media:group.chiefs'],
    keepers: ['user.joe', 'media.api', 'media:group.crew'],
    reader: ['user.ann', 'media.web', 'media:group.guests'],
  },
  groups: { chiefs: ['user.boss'], crew: ['user.jim'], guests: ['user.eve'] },
  services: { api: {}, web: {}, other: {} },
  policies: { films: [plain], management: [plain, power] },
};

const snapshotOf = (...sketches: readonly DomainSketch[]) =>
  compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: sketches.map((sketch) => stored(domainContent(sketch))),
    deleted: [],
    signingKeys: [],
  }).snapshot;

/** True if the change affects authority; `users` are the domains with the named member in a role. */
function changes(
  after: Partial<DomainSketch>,
  users: Readonly<Record<string, readonly string[]>> = {},
  before = usual,
) {
  const listed = ({ names }: { readonly names: readonly string[] }) =>
    Promise.resolve(names.flatMap((name) => users[name] ?? []).map((name) => domainContent({ name }).name));
  const change = changeOf(domainContent(before), domainContent({ ...before, ...after }));
  return changesManagers(change, {
    snapshot: snapshotOf(usual),
    reader: { domainsWithMember: listed, groupsWithMember: () => Promise.resolve([]) },
    after: factsOf(change, [domainContent(before)]).after,
  });
}

const key = { 0: 'a public key' };
const cases: [note: string, after: Partial<DomainSketch>, users: Record<string, string[]>, expected: boolean][] = [
  ['nothing', {}, {}, false],
  ['the administrators', { roles: { ...usual.roles, admin: ['user.eve'] } }, {}, true],
  ['the role of a rule with authority', { roles: { ...usual.roles, keepers: [] } }, {}, true],
  ['a role without authority', { roles: { ...usual.roles, reader: [] } }, {}, false],
  ['a new rule with authority', { policies: { ...usual.policies, more: [power] } }, {}, true],
  ['a new rule without', { policies: { ...usual.policies, more: [plain] } }, {}, false],
  ['a group of administrators', { groups: { ...usual.groups, chiefs: [] } }, {}, true],
  ['a group in a role with authority', { groups: { ...usual.groups, crew: [] } }, {}, true],
  ['a group in none', { groups: { ...usual.groups, guests: [] } }, {}, false],
  [
    'one that only its own domain uses',
    { groups: { ...usual.groups, guests: [] } },
    { 'media:group.guests': ['media'] },
    false,
  ],
  [
    'one that another uses',
    { groups: { ...usual.groups, guests: [] } },
    { 'media:group.guests': ['media', 'far'] },
    true,
  ],
  ['a service with authority', { services: { ...usual.services, api: key } }, { 'media.api': ['media'] }, true],
  ['a service without', { services: { ...usual.services, web: key } }, { 'media.web': ['media'] }, false],
  ['a service in no role', { services: { ...usual.services, other: key } }, {}, false],
  [
    'a service in a domain that is not enabled',
    { services: { ...usual.services, web: key } },
    { 'media.web': ['far'] },
    true,
  ],
];
for (const [note, after, users, expected] of cases) {
  test(`a change of who has authority: ${note}`, async (t) => t.is(await changes(after, users), expected));
}

test('every change of the system domain is one', async (t) => {
  t.true(await changes({}, {}, { name: 'sys.auth' }));
});

const isIn = (sketch: Partial<DomainSketch>, member: string) =>
  isMemberInPower(snapshotOf({ ...usual, ...sketch }), domainContent(usual).name, new Set([member]));

test('one rule with authority among others is enough, in whichever policy, and one member among others', (t) => {
  t.true(isIn({}, 'media.api'));
  t.true(isIn({ policies: { management: [power, plain], films: [plain] } }, 'media.api'));
  t.false(isIn({}, 'media.web'));
  t.false(isIn({ policies: { films: [plain] } }, 'media.api'));
  t.true(isIn({ policies: {} }, 'user.boss'));
  t.true(isIn({ enabled: false }, 'media.web'));
});

test('a version that is not active gives nobody authority', (t) => {
  const content = domainContent({ ...usual, policies: { management: [power] } });
  const resting = { ...content, policies: content.policies.map((policy) => ({ ...policy, active: false })) };
  const { snapshot } = compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: [stored(resting)],
    deleted: [],
    signingKeys: [],
  });
  t.false(isMemberInPower(snapshot, content.name, new Set(['media.api'])));
});

test('every role of the system domain has authority', (t) => {
  const system: DomainSketch = { name: 'sys.auth', roles: { any: ['user.joe'] } };
  const { name } = domainContent(system);
  t.true(powerIn(name, [])('any'));
  const media = domainContent(usual);
  t.deepEqual(
    ['admin', 'keepers', 'reader'].map((role) => powerIn(media.name, media.policies)(role)),
    [true, true, false],
  );
  t.true(isMemberInPower(snapshotOf(system), name, new Set(['user.joe'])));
  t.false(isMemberInPower(snapshotOf(system), name, new Set(['user.ann'])));
});

test('others have their turn while many domains are looked at that list somebody', async (t) => {
  const many = Array.from({ length: 8 }, (_, index) => `far${index}`);
  const snapshot = snapshotOf(usual, ...many.map((name) => ({ name, roles: { any: ['*'] } })));
  const { decide, pauses } = costlyDecisions();
  const slow = {
    ...snapshot,
    domain: (name: Parameters<typeof snapshot.domain>[0]) => (decide() ? snapshot.domain(name) : undefined),
  };
  const change = changeOf(domainContent(usual), domainContent({ ...usual, services: { ...usual.services, web: key } }));
  const listing = async () => many.map((name) => domainContent({ name }).name);
  const { after } = factsOf(change, [domainContent(usual)]);
  const reader = { domainsWithMember: listing, groupsWithMember: async () => [] };
  t.false(await changesManagers(change, { snapshot: slow, reader, after }));
  t.true(pauses() >= many.length - 1, `${pauses()} pauses`);
});
