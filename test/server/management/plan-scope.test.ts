import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { impactOf } from '@signet/server/impact/impact';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { exportDomain } from '@signet/server/management/export-domain';
import { planDocuments } from '@signet/server/management/plan-documents';
import type { Store, StoreReader } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { type PlainDomain, plainRecord, plainSnapshot } from '#support/plain-domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* A plan reads only what its documents have to do with, and is as right as one that reads everything. */

const now = 1_700_000_000_000;
const names = ['aa', 'bb', 'cc', 'dd'];
const services = ['x', 'y'];

const member = fc.constantFrom(
  ...names.flatMap((name) => [`${name}.x`, `${name}.y`, `${name}:group.g`, `${name}.*`]),
  '*',
  'b*',
  'user.u',
);
const members = fc.uniqueArray(member, { maxLength: 3 }).map((list) => list.map((name) => ({ name, disabled: false })));
const domain = (name: string) =>
  fc
    .record({
      enabled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      r: members,
      s: members,
      g: fc.uniqueArray(fc.constantFrom('aa.x', 'bb.x', 'cc.y', 'user.u'), { maxLength: 2 }),
      trust: fc.option(fc.constantFrom(...names.filter((other) => other !== name)), { nil: undefined }),
      states: fc.tuple(...services.map(() => fc.constantFrom('on', 'off', 'absent'))),
      assumes: fc.option(fc.constantFrom(...names), { nil: undefined }),
    })
    .map(
      ({ enabled, r, s, g, trust, states, assumes }): PlainDomain => ({
        name,
        enabled,
        roles: { r, s },
        groups: { g },
        ...(trust !== undefined && { trusts: { t: trust } }),
        services: services.filter((_, index) => states[index] === 'on'),
        servicesOff: services.filter((_, index) => states[index] === 'off'),
        rules: [
          ['ALLOW', 'r', 'read', 'm'],
          ['ALLOW', 's', 'write', 'm*'],
          ...(trust === undefined ? [] : [['ALLOW', 't', '*', 'm'] as const]),
          ...(assumes === undefined ? [] : [['ALLOW', 's', 'assume_role', `${assumes}:role.*`] as const]),
        ],
      }),
    );
const world = fc.tuple(...names.map(domain));

/** A domain as it is afterwards, where a service that is gone holds nothing, as one that was not there and is disabled. */
function leftOf(fresh: PlainDomain, old: PlainDomain): PlainDomain {
  const was = [...(old.services ?? []), ...(old.servicesOff ?? [])];
  return { ...fresh, servicesOff: was.filter((name) => fresh.services?.includes(name) !== true) };
}

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  let count = 0;
  const documents = (domains: readonly PlainDomain[]) => {
    const at = join(folder, `documents-${count++}`);
    mkdirSync(at);
    for (const one of domains) writeFileSync(join(at, `${one.name}.yaml`), exportDomain(plainRecord(one, now)));
    return readDocumentFolder(at);
  };
  const save = (domains: readonly PlainDomain[]) =>
    store.change({ actor: 'a' }, async (transaction) => {
      for (const one of domains) await saveDomain(transaction, plainRecord(one, now));
    });
  return { store, documents, save };
}

test('the impact is that of the whole store, over random worlds and documents for some of it', async (t) => {
  const { store, documents, save } = await openWorld(t);
  await fc.assert(
    fc.asyncProperty(world, world, fc.subarray(names, { minLength: 1, maxLength: 3 }), async (old, fresh, written) => {
      await save(old);
      const changed = fresh.filter(({ name }) => written.includes(name));
      const plan = await planDocuments(store, documents(changed), now);
      const before = plainSnapshot(old, now);
      const after = plainSnapshot(
        old.map((one) => {
          const fresh = changed.find(({ name }) => name === one.name);
          return fresh === undefined ? one : leftOf(fresh, one);
        }),
        now,
      );
      const whole = impactOf(before, after, now);
      if (JSON.stringify(plan.impact) !== JSON.stringify(whole)) {
        throw new Error(`${JSON.stringify(plan.impact)} instead of ${JSON.stringify(whole)}`);
      }
    }),
    { numRuns: 150, includeErrorInReport: true },
  );
  t.pass();
});

/** The store, with a note of each domain that is read whole. */
function watched(store: Store): { readonly store: Pick<Store, 'view'>; readonly read: Set<string> } {
  const read = new Set<string>();
  const watch = (reader: StoreReader): StoreReader =>
    new Proxy(reader, {
      get: (target, key) => {
        if (key !== 'domain') {
          const value: unknown = Reflect.get(target, key);
          return typeof value === 'function' ? value.bind(target) : value;
        }
        return (name: Parameters<StoreReader['domain']>[0]) => {
          read.add(name);
          return target.domain(name);
        };
      },
    });
  return { read, store: { view: (work) => store.view((reader) => work(watch(reader))) } };
}

test('what the documents have nothing to do with is not read', async (t) => {
  const { store, documents, save } = await openWorld(t);
  const role = (...list: string[]) => ({ r: list.map((name) => ({ name, disabled: false })) });
  const far = Array.from({ length: 50 }, (_, index) => ({ name: `far${index}`, roles: role('media.player', 'x.y') }));
  const media = { name: 'media', groups: { team: ['user.u'] }, services: ['on'], servicesOff: ['off'] };
  await save([
    ...far,
    media,
    { name: 'user-of-team', roles: role('media:group.team') },
    { name: 'trusts-user', trusts: { t: 'user-of-team' } },
    { name: 'lists-off', roles: role('media.off') },
    { name: 'lists-on', roles: role('media.on') },
    { name: 'needed', groups: { g: [] } },
  ]);
  const planned = async (...domains: PlainDomain[]) => {
    const { store: spy, read } = watched(store);
    await planDocuments(spy, documents(domains), now);
    return [...read].filter((name) => name !== 'user').sort();
  };
  t.deepEqual(await planned({ ...media, groups: { team: [] } }), ['media', 'trusts-user', 'user-of-team']);
  const always = ['media', 'trusts-user', 'user-of-team'];
  const enabled = { ...media, services: ['on', 'off'], servicesOff: [] };
  t.deepEqual(await planned(enabled), ['lists-off', ...always]);
  t.deepEqual(await planned({ ...media, servicesOff: [] }), always, 'it held nothing');
  t.deepEqual(await planned({ ...media, services: [] }), ['lists-on', ...always], 'it holds nothing any more');
  t.deepEqual(await planned({ ...media, services: ['on', 'new'] }), always);
  t.deepEqual(await planned({ name: 'fresh', roles: role('needed:group.g', 'far1.a') }), ['fresh', 'needed']);
  t.is((await planned({ ...media, enabled: false })).length, 50 + 5);
  t.is((await store.domain(parseDomainName('far1')))?.policyVersion, 1);
});
