import { join } from 'node:path';
import {
  type DomainName,
  parseDomainName,
  parseGroupName,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { type ListDiff, noDiff, unchanged, withList } from '@signet/server/model/domain-change';
import type { DomainContent, ListKey, MemberRecord } from '@signet/server/model/records';
import type { Store, StoreChanges, StoreState } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { type DomainSketch, domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { changesAfter, contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'test' };
const a = parseDomainName('a');

interface World {
  readonly file: string;
  readonly store: Store;
  save(sketch: DomainSketch): Promise<unknown>;
  /** Changes entries of one role or group of domain `a`. */
  change(list: ListKey, members: Partial<ListDiff<MemberRecord>>, gone?: 'gone'): Promise<unknown>;
  /** Role or group to the number of members that stands beside it. */
  counts(): unknown;
}

const role = (name: string) => ({ kind: 'role', domain: a, name: parseRoleName(name) }) as const;
const group = (name: string) => ({ kind: 'group', domain: a, name: parseGroupName(name) }) as const;
const plain = (name: string): MemberRecord => ({ name, disabled: false });

async function openWorld(t: ExecutionContext, sketch: DomainSketch = {}): Promise<World> {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  const save = (wanted: DomainSketch) => store.change(by, (change) => saveDomain(change, domainContent('a', wanted)));
  await save(sketch);
  return {
    file,
    store,
    save,
    change: (list, members, gone) =>
      store.change(by, async (transaction) => {
        const [stored, before] = [await transaction.attributes(a), await transaction.list(list)];
        if (stored === undefined) throw new Error('the domain is gone');
        const after = gone === undefined ? before : undefined;
        const change = { before, after, members: { ...noDiff, ...members } };
        return transaction.save(withList(unchanged(stored), list.kind, change));
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

const sketch: DomainSketch = {
  roles: { admin: ['m.boss'], reader: ['m.a', 'm.b', 'm.c'], writer: ['m.b', 'm.d'] },
  groups: { team: ['m.b', 'm.e'], other: ['m.f'] },
  rules: ['allow read thing reader'],
};

const entries: readonly [string, readonly string[], readonly string[]][] = [
  ['no name', [], []],
  ['one name', ['m.b'], ['group.team m.b', 'role.reader m.b', 'role.writer m.b']],
  ['names, twice and unknown', ['m.f', 'm.z', 'm.a', 'm.a'], ['group.other m.f', 'role.reader m.a']],
];

for (const [note, names, found] of entries) {
  test(`the entries of ${note} are those of the domain, sorted`, async (t) => {
    const { store } = await openWorld(t, sketch);
    await store.change(by, (change) => saveDomain(change, domainContent('b', sketch)));
    const read = await store.view((reader) => reader.entries(a, names));
    t.deepEqual(
      read.map(({ list, member }) => `${list.kind}.${list.name} ${member.name}`),
      found,
    );
    t.true(read.every(({ list }) => list.domain === 'a'));
  });
}

test('parts of a domain are read by themselves', async (t) => {
  const { store, save } = await openWorld(t, sketch);
  await save({
    ...sketch,
    roles: { ...sketch.roles, reader: ['m.a', { name: 'm.b', expires: 5 }] },
    services: ['api'],
  });
  const whole = await store.domain(a);
  await store.view(async (reader) => {
    const { roles: _, groups: __, policies, services, ...attributes } = whole ?? (t.fail() as never);
    t.deepEqual(await reader.attributes(a), attributes);
    t.deepEqual(
      await reader.listNames(a, 'role'),
      whole?.roles.map(({ name }) => name),
    );
    t.deepEqual(
      await reader.listNames(a, 'group'),
      whole?.groups.map(({ name }) => name),
    );
    t.deepEqual({ ...(await reader.list(role('reader'))), members: whole?.roles[1]?.members }, whole?.roles[1]);
    t.deepEqual(await reader.list(group('team')), { name: parseGroupName('team') });
    t.is(await reader.list(role('none')), undefined);
    t.is(await reader.list(group('reader')), undefined);
    t.deepEqual(await reader.policies(a), policies);
    t.deepEqual(await reader.policies(a, parsePolicyName('rules')), policies);
    t.deepEqual(await reader.policies(a, parsePolicyName('none')), []);
    t.deepEqual(await reader.services(a), services);
    t.deepEqual(await reader.services(a, parseServiceName('api')), services);
    t.deepEqual(await reader.services(a, parseServiceName('none')), []);
    t.deepEqual(await reader.counts(a, ['roles', 'members', 'groups', 'policies', 'assertions', 'services', 'keys']), {
      roles: 3,
      members: 8,
      groups: 2,
      policies: 1,
      assertions: 1,
      services: 1,
      keys: 0,
    });
    const none = parseDomainName('b');
    t.is(await reader.attributes(none), undefined);
    t.deepEqual(await reader.entries(none, ['m.a']), []);
    t.deepEqual(await reader.counts(none, ['members', 'roles']), { members: 0, roles: 0 });
  });
});

test('a reader counts the rows that it answers', async (t) => {
  const { store } = await openWorld(t, { ...sketch, services: ['api'] });
  await store.view(async (reader) => {
    t.is(reader.rowsRead(), 0);
    await reader.listNames(a, 'role');
    t.is(reader.rowsRead(), 3);
    await reader.entries(a, ['m.b']);
    t.is(reader.rowsRead(), 6);
    await reader.memberPage(role('reader'), '', 2);
    t.is(reader.rowsRead(), 8);
    await reader.policies(a);
    t.is(reader.rowsRead(), 10, 'a policy and its assertion');
    await reader.services(a);
    t.is(reader.rowsRead(), 11);
  });
});

test('a change of entries is one change of the domain, and leaves everything else', async (t) => {
  const { store, change } = await openWorld(t, { ...sketch, services: ['api'] });
  const before = await store.domain(a);
  const disabled = { name: 'm.b', disabled: true };
  const outcome = await change(role('reader'), { changed: [{ before: plain('m.b'), after: disabled }] });
  t.deepEqual(outcome, { kind: 'changed', version: 1 });
  const after = await store.domain(a);
  t.deepEqual(listed(after), listed(before));
  t.deepEqual([after?.policies, after?.services], [before?.policies, before?.services]);
  t.deepEqual(after?.roles[1]?.members, [plain('m.a'), disabled, plain('m.c')]);
  const [record] = await store.audit({ subject: 'a', limit: 1 });
  t.like(record, { action: 'change', version: 1 });
  t.deepEqual(
    [record?.before, record?.after].map((text) => JSON.parse(text ?? 'null')),
    [{ roles: [{ name: 'reader', members: [plain('m.b')] }] }, { roles: [{ name: 'reader', members: [disabled] }] }],
  );
  const nothing = await store.change(by, async (transaction) => {
    const stored = await transaction.attributes(a);
    return stored && transaction.save(unchanged(stored));
  });
  t.deepEqual(nothing, { kind: 'unchanged', version: 1 });
  t.like(await store.verifyAudit(), { records: 2 });
});

test('a role or group goes only with all of its members', async (t) => {
  const { store, change } = await openWorld(t, sketch);
  const before = await store.domain(a);
  const removed = [plain('m.b')];
  await t.throwsAsync(change(role('writer'), { removed }, 'gone'), { message: /not all members of `a:writer`/ });
  await t.throwsAsync(change(group('team'), {}, 'gone'), { message: /not all members of `a:team`/ });
  t.deepEqual(await store.domain(a), before);
  await change(role('writer'), { removed: [plain('m.b'), plain('m.d')] }, 'gone');
  await change(group('team'), { removed: [plain('m.b'), plain('m.e')] }, 'gone');
  t.deepEqual(listed(await store.domain(a)), { admin: ['m.boss'], reader: ['m.a', 'm.b', 'm.c'], other: ['m.f'] });
});

test('the number of members follows every change', async (t) => {
  const { store, save, change, counts } = await openWorld(t, sketch);
  t.deepEqual(counts(), { admin: 1, reader: 3, writer: 2, other: 1, team: 2 });
  await change(role('reader'), { added: [plain('m.x')] });
  await change(group('team'), { added: [plain('m.x')] });
  await change(role('writer'), { removed: [plain('m.b')] });
  await change(role('reader'), { changed: [{ before: plain('m.a'), after: { name: 'm.a', disabled: true } }] });
  t.deepEqual(counts(), { admin: 1, reader: 4, writer: 1, other: 1, team: 3 });
  await save({ ...sketch, roles: { admin: ['m.boss'], reader: ['m.a'], fresh: ['m.a', 'm.b'] } });
  t.deepEqual(counts(), { admin: 1, reader: 1, fresh: 2, other: 1, team: 2 });
  await store.change(by, (transaction) => transaction.deleteDomain(a));
  t.deepEqual(counts(), {});
});

test('members come in pages, sorted, of their list alone', async (t) => {
  const { store } = await openWorld(t, sketch);
  const page = async (list: ListKey, after: string, limit: number) =>
    (await store.view((reader) => reader.memberPage(list, after, limit))).map((one) => one.name);
  t.deepEqual(await page(role('reader'), '', 2), ['m.a', 'm.b']);
  t.deepEqual(await page(role('reader'), 'm.b', 2), ['m.c']);
  t.deepEqual(await page(role('reader'), 'm.aa', 1), ['m.b']);
  t.deepEqual(await page(group('team'), '', 9), ['m.b', 'm.e']);
  t.deepEqual(await page(role('team'), '', 9), []);
  t.deepEqual(await page(role('nothing'), '', 9), []);
});

test('more members than are read at once, in one role and over many', async (t) => {
  const { store } = await openWorld(t);
  const many = (count: number, letter: string) =>
    Array.from({ length: count }, (_, index) => `m.${letter}${String(index).padStart(5, '0')}`);
  const roles = { big: many(9000, 'a'), least: ['m.x'], small: many(10, 'b') };
  const contents = ['a', 'b', 'c', 'd'].map((name) => domainContent(name, { roles, groups: { all: many(4001, 'c') } }));
  await store.change(by, async (change) => {
    for (const content of contents) await saveDomain(change, content);
  });
  const { domains } = await contentsOf(store);
  t.deepEqual(domains.map(listed), contents.map(listed));
});

test('more rules than are read at once', async (t) => {
  const { store, save } = await openWorld(t);
  const rules = Array.from({ length: 9000 }, (_, index) => `allow read thing${index} p`);
  await save({ roles: { p: ['m.a'] }, rules });
  const wanted = domainContent('a', { rules }).policies[0]?.assertions.map(({ resource }) => resource);
  const found = (await store.domain(a))?.policies[0]?.assertions.map(({ resource }) => resource);
  t.deepEqual(found, wanted);
  await store.change(by, (change) => saveDomain(change, domainContent('b', { roles: { p: [] }, rules })));
  const { domains } = await contentsOf(store);
  t.deepEqual(
    domains.map(({ policies }) => policies[0]?.assertions.map(({ resource }) => resource.replace(/^.:/, 'a:'))),
    [wanted, wanted],
  );
});

/** Changes told to a snapshot of that state, with or without domain `a`. */
async function told(store: Store, known: StoreState, knows = true): Promise<StoreChanges> {
  const changes = await changesAfter(store, known, (name: DomainName) => knows && name === 'a');
  return changes ?? contentsOf(store);
}

test('who is as of a state is told the members that changed since, and everything else', async (t) => {
  const { store, save } = await openWorld(t, sketch);
  const first = await store.state();
  await save({ ...sketch, roles: { ...sketch.roles, reader: ['m.a', 'm.c', 'm.x'] } });
  const second = await store.state();
  await save({ ...sketch, roles: { admin: ['m.boss'], reader: ['m.a', 'm.c', 'm.x'], other: [] } });
  const { domains, updates } = await told(store, first);
  t.deepEqual(domains, []);
  const [update] = updates ?? [];
  t.deepEqual([update?.names, update?.grants], [['m.b', 'm.d', 'm.x'], undefined]);
  t.deepEqual(
    update?.model?.roles.map(({ name }) => String(name)),
    ['admin', 'other', 'reader'],
  );
  t.deepEqual(
    update?.entries.map(({ list, member }) => `${list.kind}.${list.name} ${member.name}`),
    ['group.team m.b', 'role.reader m.x'],
  );
  t.deepEqual((await told(store, second)).updates?.[0]?.names, ['m.b', 'm.d']);
  const third = await store.state();
  await save({ ...sketch, rules: ['deny read thing reader'] });
  const [last] = (await told(store, third)).updates ?? [];
  t.deepEqual([last?.grants?.policies, last?.names], [(await store.domain(a))?.policies, ['m.b', 'm.d', 'm.x']]);
  const fourth = await store.state();
  await save({ ...sketch, rules: ['deny read thing reader'], roles: { ...sketch.roles, reader: ['m.a'] } });
  const [members] = (await told(store, fourth)).updates ?? [];
  t.deepEqual([members?.model, members?.grants, members?.names], [undefined, undefined, ['m.b', 'm.c']]);
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
    const { domains, updates, since } = await told(world.store, known, knows);
    t.deepEqual([updates, since], [undefined, known]);
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
      for (const content of list) await saveDomain(change, content);
    });
  await save(contents('m.a'));
  const known = await store.state();
  await save(contents('m.b'));
  const whole = await changesAfter(store, known, () => true);
  t.deepEqual([whole?.domains.length, whole?.updates], [51, undefined]);
  const next = await store.state();
  await save(contents('m.c').slice(0, 50));
  const later = await changesAfter(store, next, () => true);
  t.deepEqual([later?.domains.length, later?.updates?.length], [0, 50]);
});
