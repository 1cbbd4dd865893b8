import { join } from 'node:path';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import type { DomainContent, MemberRecord } from '@signet/server/model/records';
import { isGap } from '@signet/server/model/snapshot-source';
import type { SnapshotSource, StoreChanges, StoreState } from '@signet/server/model/store';
import { grantedAmong, grantedRoles } from '@signet/server/roles/granted-roles';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { DomainMembers } from '@signet/server/snapshot/domain-members';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import type { DomainSnapshot, Snapshot } from '@signet/server/snapshot/snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { type DomainSketch, domainContent } from '#support/domains';
import { randomFrom } from '#support/random';
import { saveDomain } from '#support/save-domain';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const principals = ['a.x', 'a.y', 'b.x', 'b.y', 'user.u'];
const entries = [...principals, '*', 'a.*', 'b.x*', 'a:group.g', 'b:group.g', 'b:group.h'];

function membersFrom(names: readonly string[], random: (below: number) => number, now: number): MemberRecord[] {
  return names
    .filter(() => random(3) === 0)
    .map((name) => ({
      name,
      disabled: random(6) === 0,
      ...(random(3) === 0 && { expires: now + random(4) * 1000 - 1500 }),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A domain of few names, so that changes hit each other. */
function randomDomain(name: string, random: (below: number) => number, now: number): DomainContent {
  const roles: Record<string, readonly MemberRecord[] | { readonly trust: string }> = {};
  for (const role of ['p', 'q', 'r']) {
    const kind = random(8);
    if (kind === 0) roles[role] = { trust: name === 'a' ? 'b' : 'a' };
    else if (kind > 1) roles[role] = membersFrom(entries, random, now);
  }
  const groups: Record<string, readonly MemberRecord[]> = {};
  for (const group of ['g', 'h']) if (random(5) > 0) groups[group] = membersFrom(principals, random, now);
  const rules = [`allow read thing p`, `allow assume_role ${name}:role.q p`, `allow assume_role b:role.r q`];
  const sketch: DomainSketch = { roles, groups, rules: rules.filter(() => random(3) > 0), services: ['x', 'y'] };
  const bundleReaders = principals
    .filter((each) => !each.startsWith('user') && random(4) === 0)
    .map((principal) => parsePrincipalName(principal));
  const content = domainContent(name, { ...sketch, enabled: random(12) > 0 });
  return bundleReaders.length === 0 ? content : { ...content, bundleReaders };
}

/** Changes the members of one list of the domain and leaves the rest: what most changes are. */
function withOtherMembers(content: DomainContent, random: (below: number) => number, now: number): DomainContent {
  const roles = content.roles.map((role) =>
    role.trust === undefined && random(2) === 0 ? { ...role, members: membersFrom(entries, random, now) } : role,
  );
  const groups = content.groups.map((group) =>
    random(2) === 0 ? { ...group, members: membersFrom(principals, random, now) } : group,
  );
  return { ...content, roles, groups };
}

function sortedMap<Value>(map: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function plainDomain(domain: DomainSnapshot) {
  return {
    ...domain,
    policy: [domain.policy.assertionCount, domain.policy.revision, domain.policy.fallback],
    foreignPolicy: domain.foreignPolicy?.assertionCount,
    roles: sortedMap(domain.roles),
  };
}

function plainMembers(members: DomainMembers) {
  return {
    names: sortedMap(members.names),
    prefixes: sortedMap(members.prefixes),
    prefixLengths: members.prefixLengths,
    groups: sortedMap(members.groups),
    groupDomains: [...members.groupDomains].sort(),
    groupMembers: sortedMap(members.groupMembers),
  };
}

function plain(snapshot: Snapshot, now: number) {
  return {
    state: [snapshot.epoch, snapshot.counter],
    disabled: [...snapshot.disabledDomains].sort(),
    readers: sortedMap(snapshot.bundleDomains),
    domains: sortedMap(snapshot.domains).map(([, domain]) => plainDomain(domain)),
    members: sortedMap(snapshot.members).map(([name, members]) => [name, plainMembers(members)]),
    granted: sortedMap(snapshot.domains).flatMap(([, domain]) =>
      principals.map((name) =>
        grantedRoles(snapshot, domain, parsePrincipalName(name), now).map((role) => `${name} ${role.name}`),
      ),
    ),
    grantedByName: sortedMap(snapshot.domains).flatMap(([, domain]) =>
      principals.map((name) => {
        const asked = new Set(domain.roles.keys());
        return grantedAmong(snapshot, domain, parsePrincipalName(name), { asked, now }).map(
          (role) => `${name} ${role.name}`,
        );
      }),
    ),
  };
}

for (const seed of [1, 2, 3]) {
  test(`a snapshot that followed each change is the one made of everything (seed ${seed})`, async (t) => {
    const random = randomFrom(seed);
    const clock = new FakeClock();
    const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
    t.teardown(() => store.close());
    const answered: StoreChanges[] = [];
    const source: SnapshotSource = {
      state: () => store.state(),
      changesSince: async (known, knows) => {
        const changes = await store.changesSince(known, knows);
        if (!isGap(changes)) answered.push(changes);
        return changes;
      },
      everything: (work) => store.everything(work),
    };
    const live = await openLiveSnapshot({ store: source, clock, refreshIntervalMs: 3_600_000 });
    t.teardown(() => live.close());
    for (let step = 0; step < 40; step += 1) {
      for (let change = random(3); change >= 0; change -= 1) {
        const name = ['a', 'b'][random(2)] ?? 'a';
        const stored = await store.domain(parseDomainName(name));
        await store.change({ actor: 'test' }, async (transaction) => {
          if (random(25) === 0) await transaction.deleteDomain(parseDomainName(name));
          else if (stored === undefined || random(3) === 0) {
            await saveDomain(transaction, randomDomain(name, random, clock.now()));
          } else await saveDomain(transaction, withOtherMembers(stored, random, clock.now()));
        });
      }
      await live.refresh();
      const whole = compileSnapshot(undefined, await contentsOf(store)).snapshot;
      const seen = plain(live.current(), clock.now());
      t.deepEqual(seen, plain(whole, clock.now()));
      const fresh = await openLiveSnapshot({ store, clock, refreshIntervalMs: 3_600_000 });
      t.deepEqual(plain(fresh.current(), clock.now()), seen, 'as loaded by a server that starts');
      await fresh.close();
      t.deepEqual(seen.grantedByName, seen.granted);
    }
    const updates = answered.flatMap((changes) => changes.updates ?? []).length;
    t.true(updates > 15, `only ${updates} updates`);
    t.is(live.status().error, undefined);
  });
}

test('a change of a member leaves the domain, and the other members, the very same', async (t) => {
  const clock = new FakeClock();
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
  t.teardown(() => store.close());
  const save = (content: DomainContent) => store.change({ actor: 'test' }, (change) => saveDomain(change, content));
  await save(domainContent('a', { roles: { p: ['a.x', 'a.y'], q: ['b.x'] }, groups: { g: ['b.y'] } }));
  const live = await openLiveSnapshot({ store, clock, refreshIntervalMs: 3_600_000 });
  t.teardown(() => live.close());
  const name = parseDomainName('a');
  const before = live.current();
  await save(domainContent('a', { roles: { p: ['a.x', 'a.z'], q: ['b.x'] }, groups: { g: ['b.y'] } }));
  await live.refresh();
  const after = live.current();
  t.is(after.domain(name), before.domain(name));
  const [was, is] = [before.members.get(name), after.members.get(name)];
  t.is(is?.names.get('b.x'), was?.names.get('b.x'));
  t.is(is?.groupMembers, was?.groupMembers);
  t.deepEqual([...(is?.names.keys() ?? [])].sort(), ['a.x', 'a.z', 'b.x']);
  t.deepEqual([...(was?.names.keys() ?? [])].sort(), ['a.x', 'a.y', 'b.x']);
});

test('members in great numbers, and few, are loaded as they are compiled', async (t) => {
  const clock = new FakeClock();
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
  t.teardown(() => store.close());
  const many = (count: number): MemberRecord[] =>
    Array.from({ length: count }, (_, index) => ({
      name: `b.s${String(index).padStart(5, '0')}`,
      disabled: index % 7 === 0,
      ...(index % 5 === 0 && { expires: clock.now() + 1000 }),
    }));
  await store.change({ actor: 'test' }, async (change) => {
    for (const [name, count] of [
      ['a', 9000],
      ['b', 990],
      ['c', 3],
    ] as const) {
      await saveDomain(
        change,
        domainContent(name, { roles: { p: many(count), q: ['b.s00001', '*'] }, groups: { g: many(2) } }),
      );
    }
  });
  const live = await openLiveSnapshot({ store, clock, refreshIntervalMs: 3_600_000 });
  t.teardown(() => live.close());
  const { snapshot } = compileSnapshot(undefined, await contentsOf(store));
  for (const [name, members] of snapshot.members) {
    const loaded = live.current().members.get(name);
    t.deepEqual(loaded && plainMembers(loaded), plainMembers(members), name);
    t.is(loaded?.names, loaded?.names, 'arranged once');
  }
});

const none = { domains: [], deleted: [], signingKeys: [] };
const [first, second] = [1, 2].map((counter) => ({ epoch: 1, counter, head: `${counter}` })) as [
  StoreState,
  StoreState,
];
const recordOf = (name: string) => ({
  ...domainContent(name, { roles: { p: ['a.x'] } }),
  policies: [],
  policyVersion: 1,
  policyModified: 0,
});

test('an update of a domain that is not known changes nothing, and is reported', (t) => {
  const { snapshot } = compileSnapshot(undefined, { ...none, state: first, domains: [recordOf('a')] });
  const updates = [{ name: parseDomainName('b'), model: recordOf('b'), names: [], entries: [] }];
  const { snapshot: next, problems } = compileSnapshot(snapshot, { ...none, state: second, since: first, updates });
  t.deepEqual([...next.domains.keys()].map(String), ['a']);
  t.is(next.domain(parseDomainName('a')), snapshot.domain(parseDomainName('a')));
  t.deepEqual(
    problems.map(({ domain }) => String(domain)),
    ['b'],
  );
  t.deepEqual([...next.outdatedDomains].map(String), ['b']);
  // The domain is not what the update starts from either, now that one was lost.
  const again = { ...none, state: { ...second, counter: 3 }, since: second, updates };
  t.is(compileSnapshot(next, again).problems.length, 1);
});

for (const since of [second, { ...first, epoch: 2 }, { ...first, head: 'other' }]) {
  test(`changes after ${JSON.stringify(since)} do not go on top of another state`, (t) => {
    const { snapshot } = compileSnapshot(undefined, { ...none, state: first, domains: [recordOf('a')] });
    const changes = { ...none, state: { ...second, counter: 3 }, since, deleted: [parseDomainName('a')] };
    t.throws(() => compileSnapshot(snapshot, changes), { message: 'the changes are those of another state' });
    t.throws(() => compileSnapshot(undefined, changes), { message: 'the changes are those of another state' });
    const { since: _, ...whole } = changes;
    t.is(compileSnapshot(snapshot, { ...whole, deleted: [] }).snapshot.domains.size, 0, 'everything that there is');
  });
}

test('while a large role is loaded, others get their turns', async (t) => {
  const clock = new FakeClock();
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
  t.teardown(() => store.close());
  const members = Array.from({ length: 20_000 }, (_, index) => `a.s${String(index).padStart(5, '0')}`);
  await store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent('a', { roles: { p: members } })));
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const live = await openLiveSnapshot({ store, clock, refreshIntervalMs: 3_600_000 });
  clearImmediate(timer);
  t.teardown(() => live.close());
  t.is(live.current().members.get(parseDomainName('a'))?.names.size, 20_000);
  t.true(turns >= 5, `${turns} turns`);
});
