import { join } from 'node:path';
import { type DomainName, parseDomainName, parseGroupName, parseRoleName } from '@signet/policy-engine/names';
import type { DomainContent, DomainRecord, MemberRecord } from '@signet/server/model/records';
import type { DomainScope, Store, StoreChanges, StoreState } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { type DomainSketch, domainContent } from '#support/domains';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'test' };
const a = parseDomainName('a');

interface World {
  readonly file: string;
  readonly store: Store;
  save(sketch: DomainSketch): Promise<unknown>;
  /** Changes the excerpt of domain `a`. */
  change(scope: Partial<DomainScope>, edit: (content: DomainRecord) => DomainContent): Promise<unknown>;
  /** Role or group to the number of members that stands beside it. */
  counts(): unknown;
}

const scopeOf = (scope: Partial<DomainScope>): DomainScope => ({ roles: [], groups: [], names: [], ...scope });

async function openWorld(t: ExecutionContext, sketch: DomainSketch = {}): Promise<World> {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  const save = (wanted: DomainSketch) => store.change(by, (change) => change.saveDomain(domainContent('a', wanted)));
  await save(sketch);
  return {
    file,
    store,
    save,
    change: (scope, edit) =>
      store.change(by, async (transaction) => {
        const excerpt = await transaction.excerpt(a, scopeOf(scope));
        if (excerpt === undefined) throw new Error('the domain is gone');
        return transaction.saveExcerpt(excerpt, edit(excerpt.content));
      }),
    counts: () => countsIn(file),
  };
}

function countsIn(file: string): unknown {
  const database = new Database(file, { readonly: true });
  try {
    const counts = `select name, member_count from roles union all select name, member_count from groups order by name`;
    return Object.fromEntries(database.prepare<[], [string, number]>(counts).raw().all());
  } finally {
    database.close();
  }
}

function listed(content: DomainContent | undefined): unknown {
  const lists = [...(content?.roles ?? []), ...(content?.groups ?? [])];
  return Object.fromEntries(lists.map(({ name, members }) => [name, members.map((member) => member.name)]));
}

function withMembers(content: DomainRecord, list: string, members: readonly MemberRecord[]): DomainContent {
  const change = <Item extends { readonly name: string }>(item: Item) =>
    item.name === list ? { ...item, members } : item;
  return { ...content, roles: content.roles.map(change), groups: content.groups.map(change) };
}

const sketch: DomainSketch = {
  roles: { admin: ['m.boss'], reader: ['m.a', 'm.b', 'm.c'], writer: ['m.b', 'm.d'] },
  groups: { team: ['m.b', 'm.e'], other: ['m.f'] },
  rules: ['allow read thing reader'],
};

const excerpts: readonly [string, Partial<DomainScope>, Record<string, readonly string[]>][] = [
  ['nothing', {}, { admin: [], reader: [], writer: [], other: [], team: [] }],
  ['one name', { names: ['m.b'] }, { admin: [], reader: ['m.b'], writer: ['m.b'], other: [], team: ['m.b'] }],
  [
    'names, twice and unknown',
    { names: ['m.f', 'm.z', 'm.a', 'm.a'] },
    { admin: [], reader: ['m.a'], writer: [], other: ['m.f'], team: [] },
  ],
  [
    'a role and a group, and a name in them and elsewhere',
    { roles: [parseRoleName('reader')], groups: [parseGroupName('other')], names: ['m.b'] },
    { admin: [], reader: ['m.a', 'm.b', 'm.c'], writer: ['m.b'], other: ['m.f'], team: ['m.b'] },
  ],
];

for (const [note, scope, shown] of excerpts) {
  test(`an excerpt with ${note} has all but the other members`, async (t) => {
    const { store } = await openWorld(t, sketch);
    const whole = await store.domain(a);
    const excerpt = await store.view((reader) => reader.excerpt(a, scopeOf(scope)));
    t.deepEqual(listed(excerpt?.content), shown);
    t.is(excerpt?.otherMembers, 9 - Object.values(shown).flat().length);
    const bare = (domain: DomainContent | undefined) => ({
      ...domain,
      roles: domain?.roles.map((role) => ({ ...role, members: [] })),
      groups: domain?.groups.map((group) => ({ ...group, members: [] })),
    });
    t.deepEqual(bare(excerpt?.content), bare(whole));
  });
}

const parts: readonly [
  string,
  Partial<DomainScope>,
  readonly string[],
  readonly [policies: number, services: number],
][] = [
  ['everything', {}, ['admin', 'reader', 'writer', 'other', 'team'], [1, 1]],
  [
    'neither policies nor services',
    { policies: false, services: false },
    ['admin', 'reader', 'writer', 'other', 'team'],
    [0, 0],
  ],
  ['no list', { lists: [], policies: false }, [], [0, 1]],
  ['the lists of a name', { lists: [], names: ['m.b'], services: false }, ['reader', 'writer', 'team'], [1, 0]],
  [
    'whole lists',
    { lists: [], roles: [parseRoleName('writer')], groups: [parseGroupName('other')] },
    ['writer', 'other'],
    [1, 1],
  ],
  [
    'lists without members, one of which is not there',
    {
      lists: [
        { kind: 'role', domain: a, name: 'reader' },
        { kind: 'group', domain: a, name: 'reader' },
      ],
    },
    ['reader'],
    [1, 1],
  ],
];
for (const [note, scope, lists, [policies, services]] of parts) {
  test(`an excerpt of ${note} has nothing else, and counts the members that it does not show`, async (t) => {
    const { store } = await openWorld(t, { ...sketch, services: ['api'] });
    const excerpt = await store.view((reader) => reader.excerpt(a, scopeOf(scope)));
    const { roles = [], groups = [] } = excerpt?.content ?? {};
    const all = [...roles, ...groups];
    t.deepEqual(
      all.map(({ name }) => String(name)),
      lists,
    );
    t.deepEqual([excerpt?.content.policies.length, excerpt?.content.services.length], [policies, services]);
    t.is(excerpt?.otherMembers, 9 - all.flatMap(({ members }) => members).length);
  });
}

test('a change of an excerpt leaves what it does not show', async (t) => {
  const { store, change } = await openWorld(t, { ...sketch, services: ['api'] });
  const before = await store.domain(a);
  const list = { kind: 'role', domain: a, name: 'reader' } as const;
  const scope = scopeOf({ names: ['m.x'], lists: [list], policies: false, services: false });
  await change(scope, (content) => withMembers(content, 'reader', [{ name: 'm.x', disabled: false }]));
  const after = await store.domain(a);
  t.deepEqual([after?.policies, after?.services], [before?.policies, before?.services]);
  t.deepEqual(
    after?.roles[1]?.members.map(({ name }) => name),
    ['m.a', 'm.b', 'm.c', 'm.x'],
  );
});

test('there is no excerpt of a domain that is not there', async (t) => {
  const { store } = await openWorld(t);
  t.is(await store.view((reader) => reader.excerpt(parseDomainName('b'), scopeOf({ names: ['m.a'] }))), undefined);
});

test('a change of an excerpt is one change of the domain, and leaves the members that it does not show', async (t) => {
  const { store, change } = await openWorld(t, sketch);
  const before = await store.domain(a);
  const outcome = await change({ names: ['m.b'] }, (content) =>
    withMembers(content, 'reader', [{ name: 'm.b', disabled: true }]),
  );
  t.deepEqual(outcome, { kind: 'changed', version: 1 });
  const after = await store.domain(a);
  t.deepEqual(listed(after), listed(before));
  t.deepEqual(after?.roles[1]?.members, [
    { name: 'm.a', disabled: false },
    { name: 'm.b', disabled: true },
    { name: 'm.c', disabled: false },
  ]);
  const [record] = await store.audit({ subject: 'a', limit: 1 });
  t.like(record, { action: 'change', version: 1 });
  t.deepEqual(
    [record?.before, record?.after].map((text) => JSON.parse(text ?? 'null')),
    [
      { roles: [{ name: 'reader', members: [{ name: 'm.b', disabled: false }] }] },
      { roles: [{ name: 'reader', members: [{ name: 'm.b', disabled: true }] }] },
    ],
  );
  t.deepEqual(await change({ names: ['m.b'] }, (content) => content), { kind: 'unchanged', version: 1 });
  t.like(await store.verifyAudit(), { records: 2 });
});

test('a role or group goes only with all of its members in sight', async (t) => {
  const { store, change } = await openWorld(t, sketch);
  const before = await store.domain(a);
  const without = (list: string) => (content: DomainRecord) => ({
    ...content,
    roles: content.roles.filter(({ name }) => name !== list),
    groups: content.groups.filter(({ name }) => name !== list),
  });
  await t.throwsAsync(change({ names: ['m.b'] }, without('writer')), { message: /not all members of `a:writer`/ });
  await t.throwsAsync(change({}, without('team')), { message: /not all members of `a:team`/ });
  t.deepEqual(await store.domain(a), before);
  await change({ roles: [parseRoleName('writer')], names: ['m.b', 'm.e'] }, (content) =>
    without('team')(without('writer')(content)),
  );
  t.deepEqual(listed(await store.domain(a)), { admin: ['m.boss'], reader: ['m.a', 'm.b', 'm.c'], other: ['m.f'] });
});

test('the number of members follows every change', async (t) => {
  const { store, save, change, counts } = await openWorld(t, sketch);
  t.deepEqual(counts(), { admin: 1, reader: 3, writer: 2, other: 1, team: 2 });
  await change({ names: ['m.x'] }, (content) => withMembers(content, 'reader', [{ name: 'm.x', disabled: false }]));
  await change({ names: ['m.x'] }, (content) => withMembers(content, 'team', [{ name: 'm.x', disabled: false }]));
  await change({ names: ['m.b'] }, (content) => withMembers(content, 'writer', []));
  await change({ names: ['m.a'] }, (content) => withMembers(content, 'reader', [{ name: 'm.a', disabled: true }]));
  t.deepEqual(counts(), { admin: 1, reader: 4, writer: 1, other: 1, team: 3 });
  await save({ ...sketch, roles: { admin: ['m.boss'], reader: ['m.a'], fresh: ['m.a', 'm.b'] } });
  t.deepEqual(counts(), { admin: 1, reader: 1, fresh: 2, other: 1, team: 2 });
  await store.change(by, (transaction) => transaction.deleteDomain(a));
  t.deepEqual(counts(), {});
});

test('members come in pages, sorted, of their list alone', async (t) => {
  const { store } = await openWorld(t, sketch);
  const page = async (name: string, after: string, limit: number, kind: 'role' | 'group' = 'role') =>
    (await store.view((reader) => reader.memberPage({ kind, domain: a, name }, after, limit))).map((one) => one.name);
  t.deepEqual(await page('reader', '', 2), ['m.a', 'm.b']);
  t.deepEqual(await page('reader', 'm.b', 2), ['m.c']);
  t.deepEqual(await page('reader', 'm.aa', 1), ['m.b']);
  t.deepEqual(await page('team', '', 9, 'group'), ['m.b', 'm.e']);
  t.deepEqual(await page('team', '', 9), []);
  t.deepEqual(await page('nothing', '', 9), []);
});

test('more members than are read at once, in one role and over many', async (t) => {
  const { store } = await openWorld(t);
  const many = (count: number, letter: string) =>
    Array.from({ length: count }, (_, index) => `m.${letter}${String(index).padStart(5, '0')}`);
  const roles = { big: many(9000, 'a'), least: ['m.x'], small: many(10, 'b') };
  const contents = ['a', 'b', 'c', 'd'].map((name) => domainContent(name, { roles, groups: { all: many(4001, 'c') } }));
  await store.change(by, async (change) => {
    for (const content of contents) await change.saveDomain(content);
  });
  const { domains } = await contentsOf(store);
  t.deepEqual(domains.map(listed), contents.map(listed));
  const excerpt = await store.view((reader) =>
    reader.excerpt(a, scopeOf({ roles: [parseRoleName('big')], names: ['m.b00003', 'm.a00007'] })),
  );
  t.deepEqual(listed(excerpt?.content), { big: roles.big, least: [], small: ['m.b00003'], all: [] });
});

test('more rules than are read at once', async (t) => {
  const { store, save } = await openWorld(t);
  const rules = Array.from({ length: 9000 }, (_, index) => `allow read thing${index} p`);
  await save({ roles: { p: ['m.a'] }, rules });
  const wanted = domainContent('a', { rules }).policies[0]?.assertions.map(({ resource }) => resource);
  const found = (await store.domain(a))?.policies[0]?.assertions.map(({ resource }) => resource);
  t.deepEqual(found, wanted);
  await store.change(by, (change) => change.saveDomain(domainContent('b', { roles: { p: [] }, rules })));
  const { domains } = await contentsOf(store);
  t.deepEqual(
    domains.map(({ policies }) => policies[0]?.assertions.map(({ resource }) => resource.replace(/^.:/, 'a:'))),
    [wanted, wanted],
  );
});

/** What a snapshot that is as of a state, and has domain `a` or not, is told. */
async function told(store: Store, known: StoreState, knows = true): Promise<StoreChanges> {
  const changes = await store.changesSince(known, (name: DomainName) => knows && name === 'a');
  return changes ?? contentsOf(store);
}

test('who is as of a state is told the members that changed since, and everything else', async (t) => {
  const { store, save } = await openWorld(t, sketch);
  const first = await store.state();
  await save({ ...sketch, roles: { ...sketch.roles, reader: ['m.a', 'm.c', 'm.x'] } });
  const second = await store.state();
  await save({ ...sketch, roles: { admin: ['m.boss'], reader: ['m.a', 'm.c', 'm.x'], other: [] } });
  const { domains, patches } = await told(store, first);
  t.deepEqual(domains, []);
  t.deepEqual(
    patches?.map(({ names, sameRules, excerpt }) => ({
      names,
      sameRules,
      version: excerpt.policyVersion,
      policies: excerpt.policies.length,
      lists: listed(excerpt),
    })),
    [
      {
        names: ['m.b', 'm.d', 'm.x'],
        sameRules: true,
        version: 1,
        policies: 0,
        lists: { admin: [], reader: ['m.x'], other: [], team: ['m.b'] },
      },
    ],
  );
  t.deepEqual((await told(store, second)).patches?.[0]?.names, ['m.b', 'm.d']);
  const third = await store.state();
  await save({ ...sketch, rules: ['deny read thing reader'] });
  const [patch] = (await told(store, third)).patches ?? [];
  t.deepEqual([patch?.sameRules, patch?.names], [false, ['m.b', 'm.d', 'm.x']]);
  t.deepEqual(patch?.excerpt.policies, (await store.domain(a))?.policies);
});

const wholes: readonly [string, boolean, (world: World) => unknown][] = [
  ['does not know the domain', false, () => {}],
  ['knows one that was deleted and created again', true, created],
  ['missed more members than are told one by one', true, withManyMembers],
];

async function created({ store, save }: World): Promise<void> {
  await store.change(by, (change) => change.deleteDomain(a));
  await save(sketch);
}

async function withManyMembers({ save }: World): Promise<void> {
  await save({ ...sketch, roles: { reader: Array.from({ length: 1100 }, (_, index) => `m.s${index}`) } });
}

for (const [note, knows, prepare] of wholes) {
  test(`who ${note} is told the whole domain`, async (t) => {
    const world = await openWorld(t, sketch);
    const known = await world.store.state();
    await world.save({ ...sketch, roles: { ...sketch.roles, reader: ['m.a'] } });
    await prepare(world);
    const { domains, patches, since } = await told(world.store, known, knows);
    t.deepEqual([patches, since], [undefined, known]);
    t.deepEqual(domains, [await world.store.domain(a)]);
  });
}

const gaps: readonly [string, string][] = [
  ['the row of its own state is gone', "delete from changes where seq = 1 and kind = 'head'"],
  ['a change between left no row', "delete from changes where seq = 2 and kind = 'head'"],
  ['the last change left no row', "delete from changes where seq = 3 and kind = 'head'"],
  ['its state had another history', "update changes set key = 'other' where seq = 1 and kind = 'head'"],
  ['all was pruned', 'delete from changes'],
];

for (const [note, damage] of gaps) {
  test(`everything is told where ${note}`, async (t) => {
    const { store, save, file } = await openWorld(t, sketch);
    const known = await store.state();
    await save({ ...sketch, roles: { ...sketch.roles, reader: ['m.a'] } });
    await save({ ...sketch, roles: { ...sketch.roles, reader: ['m.b'] } });
    const database = new Database(file);
    database.exec(damage);
    database.close();
    const { since, domains } = await told(store, known);
    t.is(since, undefined);
    t.deepEqual(domains, [await store.domain(a)]);
  });
}

test('many changed domains are told whole', async (t) => {
  const { store } = await openWorld(t);
  const contents = (member: string) =>
    Array.from({ length: 51 }, (_, index) => domainContent(`d${index + 10}`, { roles: { p: [member] } }));
  const save = (list: readonly DomainContent[]) =>
    store.change(by, async (change) => {
      for (const content of list) await change.saveDomain(content);
    });
  await save(contents('m.a'));
  const known = await store.state();
  await save(contents('m.b'));
  const whole = await store.changesSince(known, () => true);
  t.deepEqual([whole?.domains.length, whole?.patches], [51, undefined]);
  const next = await store.state();
  await save(contents('m.c').slice(0, 50));
  const later = await store.changesSince(next, () => true);
  t.deepEqual([later?.domains.length, later?.patches?.length], [0, 50]);
});
