import { ConflictError, ForbiddenError, InvalidRequestError } from '@signet/server/errors';
import type { Sees } from '@signet/server/management/change-rule';
import { checkChange, findFaults } from '@signet/server/management/check-change';
import { usersOf } from '@signet/server/management/dangling';
import { faultOf, groupNames, newReferences } from '@signet/server/management/new-references';
import { lostGroups } from '@signet/server/management/safeguards';
import type { StoreReader } from '@signet/server/model/store';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { type DomainSketch, domainContent, type MemberSketch } from '#support/domains';
import { memoryReader } from '#support/memory-reader';
import { costlyDecisions } from '#support/turns';

/* Faults of a change in itself: each safeguard alone, on both sides of its limit. */

const now = 1000;

interface Change {
  readonly name?: string;
  /** Domain before; absent if it is new. */
  readonly before?: DomainSketch;
  readonly after: DomainSketch;
  readonly allowWildcard?: boolean;
  readonly removeMemberships?: boolean;
}

/** The messages of what is wrong. */
async function faults({ name = 'media', before, after, ...rest }: Change): Promise<string[]> {
  const was = before && domainContent(name, before);
  const change = changeOf(was, domainContent(name, after));
  const found = await findFaults(change, factsOf(change, was === undefined ? [] : [was], { ...rest, now }));
  return found.map(({ error }) => error.message);
}

const cases: [note: string, change: Change, expected: RegExp | undefined][] = [
  ['a wildcard', { after: { roles: { reader: ['media.*'] } } }, /^`media\.\*` covers more than one principal/],
  ['a wildcard that is asked for', { after: { roles: { reader: ['media.*'] } }, allowWildcard: true }, undefined],
  [
    'a wildcard that was there',
    { before: { roles: { reader: ['*'] } }, after: { roles: { reader: ['*', 'user.joe'] } } },
    undefined,
  ],
  [
    'a wildcard that was in another role',
    { before: { roles: { reader: ['*'], writer: [] } }, after: { roles: { reader: ['*'], writer: ['*'] } } },
    /^`\*` covers/,
  ],
  ['a domain `user`', { name: 'user', after: {} }, /^domain `user` cannot be made/],
  ['a domain `user` that was there', { name: 'user', before: {}, after: {} }, undefined],
  ['a new domain of another name', { name: 'users', after: {} }, undefined],
  ['the system domain disabled', { name: 'sys.auth', before: {}, after: { enabled: false } }, /cannot be disabled$/],
  [
    'the system domain that was disabled',
    { name: 'sys.auth', before: { enabled: false }, after: { enabled: false } },
    undefined,
  ],
  ['the system domain enabled', { name: 'sys.auth', before: {}, after: {} }, undefined],
  ['another domain disabled', { before: {}, after: { enabled: false } }, undefined],
  ['a domain below `user`', { name: 'user.joe', after: {} }, /cannot be made/],
  ['a domain below `user` that was there', { name: 'user.joe', before: {}, after: { enabled: false } }, undefined],
  ['a service below `user`', { name: 'user.joe', before: {}, after: { services: ['laptop'] } }, /cannot have services/],
  [
    'a service below `user` that was there',
    { name: 'user.joe', before: { services: ['laptop'] }, after: { services: ['laptop'] } },
    undefined,
  ],
  ['a service elsewhere', { after: { services: ['laptop'] } }, undefined],
  [
    'a rule whose role goes',
    {
      before: { roles: { reader: [] }, rules: ['allow read film reader'] },
      after: { rules: ['allow read film reader'] },
    },
    /names `media:role\.reader`, which would not exist$/,
  ],
  [
    'a rule whose role was never there',
    { before: { rules: ['allow read film reader'] }, after: { rules: ['allow read film reader'] } },
    undefined,
  ],
  ['a new domain with a rule for nobody', { after: { rules: ['allow read film reader'] } }, /version `\w+` names/],
  ['a rule for a pattern', { after: { roles: { other: [], reader: [] }, rules: ['allow read film r*'] } }, undefined],
  [
    'a rule for a pattern of none',
    { after: { roles: { writer: [] }, rules: ['allow read film r*'] } },
    /version `\w+` names/,
  ],
  [
    'a group that an own role has',
    {
      before: { roles: { other: [], reader: ['user.joe', 'media:group.crew'] }, groups: { crew: [] } },
      after: { roles: { other: [], reader: ['user.joe', 'media:group.crew'] } },
    },
    /^role `reader` has the group `media:group\.crew`$/,
  ],
  [
    'a group that goes with its memberships',
    {
      before: { roles: { reader: ['media:group.crew'] }, groups: { crew: [] } },
      after: { roles: { reader: ['media:group.crew'] } },
      removeMemberships: true,
    },
    undefined,
  ],
  [
    'a group that no role has',
    { before: { roles: { reader: ['user.joe'] }, groups: { crew: [] } }, after: { roles: { reader: ['user.joe'] } } },
    undefined,
  ],
];
for (const [note, change, expected] of cases) {
  test(`a change with ${note}: ${expected === undefined ? 'accepted' : 'refused'}`, async (t) => {
    const found = await faults(change);
    t.is(found.length, expected === undefined ? 0 : 1, found.join());
    if (expected !== undefined) t.regex(found[0] ?? '', expected);
  });
}

const nobody = 'domain `media` would be left without an administrator';
const notForLong = `${nobody} once all of them have expired`;
const lasting = ['user.boss'];
const administrators: [
  note: string,
  was: MemberSketch[],
  is: MemberSketch[],
  expected: string[],
  crew?: MemberSketch[],
][] = [
  ['the last one goes', lasting, [], [nobody]],
  ['another one stays', ['user.boss', 'user.joe'], ['user.joe'], []],
  ['there was none', [], [], []],
  ['the last one is disabled', lasting, [{ name: 'user.boss', disabled: true }], [nobody]],
  ['the last one has expired', lasting, [{ name: 'user.boss', expires: now }], [nobody]],
  ['the last one will expire', lasting, [{ name: 'user.boss', expires: now + 1 }], [notForLong]],
  ['one of two will expire', lasting, [{ name: 'user.boss', expires: now + 1 }, 'user.joe'], []],
  ['all would expire before', [{ name: 'user.boss', expires: now + 1 }], [{ name: 'user.boss', expires: now + 2 }], []],
  ['one that had expired goes', [{ name: 'user.boss', expires: now }], [], []],
  ['a group takes over', lasting, ['media:group.crew'], [], ['user.joe']],
  ['an empty group takes over', lasting, ['media:group.crew'], [nobody], []],
  [
    'a group of disabled ones takes over',
    lasting,
    ['media:group.crew'],
    [nobody],
    [{ name: 'user.joe', disabled: true }],
  ],
  [
    'a group whose members expire takes over',
    lasting,
    ['media:group.crew'],
    [notForLong],
    [{ name: 'user.joe', expires: now + 1 }],
  ],
  ['a group of another domain takes over', lasting, ['far:group.crew'], [], []],
];
for (const [note, was, is, expected, crew] of administrators) {
  test(`of the administrators ${note}`, async (t) => {
    const groups = crew === undefined ? {} : { groups: { crew } };
    t.deepEqual(
      await faults({ before: { roles: { admin: was }, ...groups }, after: { roles: { admin: is }, ...groups } }),
      expected,
    );
  });
}

test('what a change takes away, and what it refers to again', (t) => {
  const before = domainContent('media', {
    roles: { reader: ['user.joe', 'far:group.old'], writer: { trust: 'far' }, editor: { trust: 'far' } },
    groups: { kept: [], gone: [] },
  });
  const after = domainContent('media', {
    roles: {
      reader: ['user.ann', 'far:group.old', 'far:group.crew'],
      writer: { trust: 'far' },
      editor: { trust: 'near' },
    },
    groups: { kept: [] },
  });
  t.deepEqual(lostGroups(changeOf(before, after)), ['media:group.gone']);
  t.deepEqual(lostGroups(changeOf(undefined, after)), []);
  const found = newReferences(changeOf(before, after)).map(({ domain, group }) => [domain as string, group]);
  t.deepEqual(found, [
    ['near', undefined],
    ['far', 'far:group.crew'],
  ]);
  t.is(newReferences(changeOf(undefined, after)).length, 4);
  t.deepEqual(newReferences(changeOf(before, domainContent('media', { roles: { writer: [] } }))), []);
});

test('a domain is read once, however many of its groups become members', async (t) => {
  const groups = Array.from({ length: 3000 }, (_, index) => `crew${index}`);
  const far = domainContent('far', { groups: Object.fromEntries(groups.map((name) => [name, []])) });
  const asked: string[] = [];
  const { listNames } = memoryReader([far]);
  const change = changeOf(
    undefined,
    domainContent('media', { roles: { reader: groups.map((name) => `far:group.${name}`) } }),
  );
  const answers: Partial<StoreReader> = {
    listNames: (domain, kind) => {
      asked.push(`${domain} ${kind}`);
      return listNames(domain, kind);
    },
  };
  await checkChange(change, factsOf(change, [far], { answers }));
  t.deepEqual(asked, ['far group']);
});

/** Why a new domain with this role is refused; `far` has the group `crew`, and the author sees what is named. */
async function refusal(members: readonly string[], seen: readonly string[] = [], after: DomainSketch = {}) {
  const far = domainContent('far', { groups: { crew: [] } });
  const sees: Sees = (domain, object) => seen.includes(`${domain}:${object}`);
  const change = changeOf(undefined, domainContent('media', { roles: { reader: members }, ...after }));
  try {
    await checkChange(change, factsOf(change, [far], { sees }));
    return undefined;
  } catch (error) {
    if (error instanceof ForbiddenError || error instanceof ConflictError || error instanceof InvalidRequestError) {
      return error.message;
    }
    throw error;
  }
}

test('a group of another domain takes the right to look at it, asked before anything is said of it', async (t) => {
  const mayNot = 'caller may not look at `far:group.crew`: its domain must give `view_domain` on it';
  t.is(await refusal(['far:group.crew']), mayNot);
  t.is(await refusal(['far:group.crew'], ['far:group.crew']), undefined);
  t.is(await refusal(['far:group.none']), mayNot.replace('crew', 'none'));
  t.is(await refusal(['far:group.none'], ['far:group.none']), 'group `far:group.none` does not exist');
  t.is(await refusal(['gone:group.crew'], ['gone:group.crew']), 'group `gone:group.crew` does not exist');
});

test('the own groups, people and trusted domains take none, but must be there', async (t) => {
  t.is(await refusal(['media:group.own', 'user.joe'], [], { groups: { own: [] } }), undefined);
  t.is(await refusal(['media:group.own'], ['media:group.own']), 'group `media:group.own` does not exist');
  const trusting = (trust: string) => refusal([], [], { roles: { writer: { trust } } });
  t.deepEqual([await trusting('far'), await trusting('gone')], [undefined, 'domain `gone` does not exist']);
});

test('the first fault of a change refuses it', async (t) => {
  t.regex((await refusal(['*'])) ?? '', /covers more than one principal/);
});

test('the users of a group are other domains', async (t) => {
  const [media, far] = ['media', 'far'].map((name) => domainContent(name).name);
  if (media === undefined || far === undefined) return t.fail();
  const asked: unknown[] = [];
  const domainsWithMember = async (names: unknown) => {
    asked.push(names);
    return [media, far];
  };
  t.deepEqual(await usersOf({ domainsWithMember }, media, 'media:group.crew'), [far]);
  t.deepEqual(asked, [['media:group.crew']]);
});

test('a reference needs its domain, and a group there', (t) => {
  const media = domainContent('media', { roles: { writer: { trust: 'far' }, reader: ['far:group.crew'] } });
  const [trust, group] = newReferences(changeOf(undefined, media));
  const { name } = domainContent('far');
  const messages = [groupNames(name, ['other', 'crew']), groupNames(name, ['other']), undefined].map((groups) =>
    [trust, group].map((reference) => reference && faultOf(reference, groups)?.error.message),
  );
  t.deepEqual(messages, [
    [undefined, undefined],
    [undefined, 'group `far:group.crew` does not exist'],
    ['domain `far` does not exist', 'group `far:group.crew` does not exist'],
  ]);
});

test('a change may have more faults than a call of a function takes arguments', async (t) => {
  const members = Array.from({ length: 200_000 }, (_, index) => `user.u${index}*`);
  t.is((await faults({ after: { roles: { reader: members } } })).length, members.length);
});

test('others have their turn while it is found which of many groups may be seen', async (t) => {
  const groups = Array.from({ length: 10 }, (_, index) => `far:group.g${index}`);
  const far = domainContent('far', { groups: Object.fromEntries(groups.map((full) => [full.slice(10), []])) });
  const change = changeOf(undefined, domainContent('media', { roles: { reader: groups } }));
  const { decide, pauses } = costlyDecisions();
  await checkChange(change, factsOf(change, [far], { sees: decide, now }));
  t.is(pauses(), 9);
});
