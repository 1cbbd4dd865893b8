import { StoreAfter } from '@signet/server/management/store-after';
import type { DomainContent, ListKey, ListKind } from '@signet/server/model/records';
import test from 'ava';
import { changeOf } from '#support/change-facts';
import { domainContent as sketched } from '#support/domain-sketch';
import { type DomainSketch, domainContent } from '#support/domains';
import { memoryReader } from '#support/memory-reader';
import { randomFrom } from '#support/random';

/* Agreement of the store after a change, as rules see it, with a store in which the change was made. */

const names = ['a.x', 'a.y', 'b.x', 'a.*', 'a:group.g', 'b:group.h'];
const kinds: readonly ListKind[] = ['role', 'group'];

function randomDomain(name: string, random: (below: number) => number): DomainContent {
  const some = (items: readonly string[]) =>
    items
      .filter(() => random(2) === 0)
      .map((item) => ({ name: item, disabled: random(4) === 0 }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  const lists = (listNames: readonly string[], members: readonly string[]) =>
    Object.fromEntries(listNames.filter(() => random(3) > 0).map((list) => [list, some(members)]));
  const sketch: DomainSketch = {
    roles: lists(['admin', 'p', 'q'], names),
    groups: lists(['g', 'h'], names.slice(0, 3)),
    rules: ['allow read thing p', 'allow write thing q', 'deny read thing q'].filter(() => random(2) === 0),
  };
  return domainContent(name, sketch);
}

/** Queries of all rules, in an order of its own. */
async function answersOf(store: StoreAfter, domains: readonly DomainContent[]): Promise<unknown> {
  const answers: Record<string, unknown> = {};
  const sorted = (items: readonly unknown[]) => items.map((item) => JSON.stringify(item)).sort();
  for (const { name: domain } of domains) {
    answers[`${domain} exists`] = await store.exists(domain);
    answers[`${domain} entries`] = sorted(await store.entries(domain, names));
    const policies = await store.policies(domain);
    const said = policies.map(({ name, version, assertions }) => [
      name,
      version,
      assertions.map((one) => one.resource),
    ]);
    answers[`${domain} policies`] = sorted(said);
    for (const kind of kinds) {
      const found = [...(await store.listNames(domain, kind))].sort();
      answers[`${domain} ${kind}s`] = found;
      for (const name of [...found, kind === 'role' ? 'none' : 'nobody']) {
        const list = { kind, domain, name } as ListKey;
        answers[`${domain} ${kind} ${name}`] = sorted((await Array.fromAsync(store.members(list))).flat());
      }
    }
  }
  for (const name of names) {
    answers[`memberships of ${name}`] = sorted(await store.memberships([name]));
    answers[`domains with ${name}`] = [...(await store.domainsWithMember([name]))].sort();
  }
  return answers;
}

for (const seed of [1, 2, 3, 4]) {
  test(`a store after changes answers as one in which they were made (seed ${seed})`, async (t) => {
    const random = randomFrom(seed);
    for (let round = 0; round < 60; round += 1) {
      const [a, b, far] = ['a', 'b', 'far'].map((name) => randomDomain(name, random)) as [
        DomainContent,
        DomainContent,
        DomainContent,
      ];
      const isNew = random(4) === 0;
      const after = [randomDomain('a', random), randomDomain('b', random)];
      const changes = [changeOf(a, after[0] ?? a), changeOf(isNew ? undefined : b, after[1] ?? b)];
      const before = new StoreAfter(memoryReader(isNew ? [a, far] : [a, b, far]), changes);
      const made = new StoreAfter(memoryReader([...after, far]), []);
      t.deepEqual(await answersOf(before, [a, b, far]), await answersOf(made, [a, b, far]));
      t.deepEqual(before.created().map(String), isNew ? ['b'] : []);
    }
  });
}

/** The object with a member that tells when it is read. */
function told<Item extends object>(item: Item, name: keyof Item, onRead: () => void): Item {
  return Object.defineProperty({ ...item }, name, {
    enumerable: true,
    get: () => {
      onRead();
      return item[name];
    },
  });
}

test('of somebody who goes from very many lists, and of very many services, each is looked at once', async (t) => {
  const many = Array.from({ length: 300 }, (_, index) => index);
  const rolesWith = (...members: string[]) => Object.fromEntries(many.map((index) => [`r${index}`, members]));
  const servicesWith = (key: string) => Object.fromEntries(many.map((index) => [`s${index}`, { [key]: key }]));
  const before = sketched({ name: 'a', roles: rolesWith('a.x', 'a.y'), services: servicesWith('old') });
  const after = sketched({ name: 'a', roles: rolesWith('a.y'), services: servicesWith('new') });
  let reads = 0;
  const count = () => {
    reads += 1;
  };
  const plain = changeOf(before, after);
  const change = {
    ...plain,
    roles: plain.roles.map((role) => told(role, 'after', count)),
    services: {
      ...plain.services,
      changed: plain.services.changed.map((one) => ({ ...one, after: told(one.after, 'name', count) })),
    },
  };
  const planted = before.services.flatMap(({ name, publicKeys }) =>
    publicKeys.map(({ id }) => ({ domain: before.name, service: name, keyId: id })),
  );
  const store = new StoreAfter(memoryReader([before], { delegatedKeys: async () => planted }), [change]);
  t.deepEqual(await store.entries(before.name, ['a.x']), []);
  t.is((await store.memberships(['a.y'])).length, many.length);
  for (const { name } of before.roles) {
    const pages = await Array.fromAsync(store.members({ kind: 'role', domain: before.name, name }));
    t.deepEqual(
      pages.flat().map((member) => member.name),
      ['a.y'],
    );
  }
  t.deepEqual(await store.delegatedKeys({ names: [], prefixes: ['a.'] }), []);
  t.true(reads <= 4 * many.length, `${reads} reads`);
});
