import { join } from 'node:path';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { storeKinds } from '#support/store-kinds';
import { temporaryFolder } from '#support/temp';

/* The keys of delegates by what the names of their services begin with. */

const services: Readonly<Record<string, readonly string[]>> = {
  a: ['b', 'b-c', 'bc', 'c'],
  'a.b': ['c', 'd'],
  'a-x': ['c'],
  ab: ['c'],
  'a.b.c': ['d'],
  b: ['a'],
};
const names = Object.entries(services).flatMap(([domain, own]) => own.map((service) => `${domain}.${service}`));
const prefixes = [
  '',
  'a',
  'a.',
  'a.b',
  'a.b-',
  'a.b.',
  'a.b.c',
  'a.b.c.',
  'a.bc',
  'a-',
  'ab',
  'ab.c',
  'b.',
  'b.a',
  'b.ab',
  'c',
];

async function fill(store: Store): Promise<void> {
  for (const [domain, own] of Object.entries(services)) {
    const content = domainContent({
      name: domain,
      services: Object.fromEntries(own.map((name) => [name, { 0: 'key' }])),
    });
    const planted = content.services.map((service) => ({
      ...service,
      publicKeys: service.publicKeys.map((key) => ({ ...key, delegated: true as const })),
    }));
    await store.change({ actor: 'test' }, (change) => saveDomain(change, { ...content, services: planted }));
  }
}

for (const kind of storeKinds) {
  test(`${kind.name}: keys of delegates are found by prefixes, each once`, async (t) => {
    const store = await openStore(await kind.place(t));
    t.teardown(() => store.close());
    await fill(store);
    const found = (asked: readonly string[]) =>
      store.view(async (reader) => {
        const keys = await reader.delegatedKeys({ names: [], prefixes: asked });
        return keys.map(({ domain, service }) => `${domain}.${service}`).sort();
      });
    for (const prefix of prefixes) {
      t.deepEqual(await found([prefix]), names.filter((name) => name.startsWith(prefix)).sort(), prefix);
    }
    t.deepEqual(await found(prefixes), names.toSorted());
    t.deepEqual(await found(['a.b.c', 'a.b', 'b', 'a.bc']), names.filter((name) => /^(a\.b|b)/.test(name)).sort());
  });
}

const prepared = new Set<string>();
const { prepare } = Database.prototype;
Reflect.set(Database.prototype, 'prepare', function (this: Database.Database, sql: string) {
  prepared.add(sql);
  return prepare.call(this, sql);
});

test.serial('no prefix has all keys of delegates read', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openStore({ kind: 'sqlite', file });
  await fill(store);
  prepared.clear();
  for (const prefix of ['a', 'a.', 'a.b']) {
    await store.view((reader) => reader.delegatedKeys({ names: [], prefixes: [prefix] }));
  }
  await store.close();
  const statements = [...prepared].filter((sql) => sql.includes('"delegated"'));
  t.is(statements.length, 3);
  const database = new Database(file);
  t.teardown(() => database.close());
  const steps = statements.flatMap((sql) => {
    const values = Array.from(sql.matchAll(/\?/g), () => null);
    const plan: Database.Statement<unknown[]> = prepare.call(database, `explain query plan ${sql}`);
    return plan.all(...values).map((row) => `${new Map(Object.entries(row ?? {})).get('detail')}`);
  });
  t.true(steps.some((step) => step.startsWith('SEARCH')));
  t.deepEqual(
    steps.filter((step) => step.startsWith('SCAN')),
    [],
  );
});
