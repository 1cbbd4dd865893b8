import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parsePrincipalName } from '@signet/policy-engine/names';
import type { StorePlace } from '@signet/server/config/store-place';
import { ConflictError, StoreRefusedError } from '@signet/server/errors';
import type { Store } from '@signet/server/model/store';
import { backUp, check, restore } from '@signet/server/store/backups';
import { replaceRows } from '@signet/server/store/copy/copy-rows';
import { compareStores, copyStore, openSource } from '@signet/server/store/copy-store';
import { migrateStore } from '@signet/server/store/migrate-store';
import { migrations } from '@signet/server/store/migrations/index';
import { openStore } from '@signet/server/store/open';
import { openPostgresTarget } from '@signet/server/store/postgres/copy-ends';
import { checkStore } from '@signet/server/store/sqlite/check';
import { tableShapes } from '@signet/server/store/sqlite/table-shapes';
import { readStoreStatus } from '@signet/server/store/store-status';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domains';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { revoke } from '#support/revoke';
import { saveDomain } from '#support/save-domain';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const file = wholeFile();
const server = postgresPrograms === undefined ? undefined : await startPostgres(file, ['max_connections=200']);
test.after.always(() => file.end());

type Database = Extract<StorePlace, { kind: 'postgres' }>;
const clock = new FakeClock();
const at = Math.floor(clock.now() / 1000);
const sealKey = Buffer.alloc(32, 7);

const save = (store: Store, name: string, roles: Readonly<Record<string, readonly string[]>> = {}) =>
  store.change({ actor: 'local:jane' }, (change) =>
    saveDomain(change, domainContent(name, { roles, services: ['player'] })),
  );

async function issue(store: Store, serial: string): Promise<void> {
  const holder = parsePrincipalName('user.jane');
  const row = { serial, issuer: 'ca', kind: 'service', subject: 'user.jane', holder } as const;
  await store.certificates.intend({ ...row, notBefore: at, notAfter: at + 86_400 }, at);
  await store.certificates.confirm(serial, `print of ${serial}`);
}

async function inStore<Result>(place: StorePlace, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore(place, { clock });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

if (server === undefined) test.skip(noPostgres, (t) => t.pass());
else {
  const newDatabase = async (): Promise<Database> => ({
    kind: 'postgres',
    ...server.settings(await server.createDatabase('icu-en-US')),
  });
  const optionsIn = (t: ExecutionContext) => ({
    clock,
    context: { actor: 'local:jane', reason: 'disk lost' },
    proof: { sealKey },
    dataDir: temporaryFolder(t),
  });
  const digestOf = async (place: StorePlace) => (await compareStores(place, place)).from.digest;

  test('a backup of a database is a file as every backup, made while servers go on', async (t) => {
    const place = await newDatabase();
    const folder = temporaryFolder(t);
    const target = join(folder, 'backup.db');
    await inStore(place, async (store) => {
      await save(store, 'media', { viewer: ['user.jane'] });
      const digest = await backUp(place, target, sealKey);
      const found = await checkStore(target, sealKey);
      t.like(found, { digest, seal: 'valid', domains: 1, faults: [] });
      t.is((await check(place, sealKey)).digest, await digestOf(place));
    });
    t.is(statSync(target).mode & 0o777, 0o600);
    t.deepEqual(readdirSync(folder), ['backup.db']);
    await t.throwsAsync(backUp(place, target, sealKey), { instanceOf: ConflictError });
    t.is((await compareStores(place, { kind: 'sqlite', file: target })).differs, undefined);
  });

  test('a restore keeps what must not be forgotten, under an epoch that was never used', async (t) => {
    const place = await newDatabase();
    const backup = join(temporaryFolder(t), 'backup.db');
    const options = optionsIn(t);
    const before = await inStore(place, async (store) => {
      await save(store, 'media', { viewer: ['user.jane'] });
      await issue(store, '0a');
      await backUp(place, backup, sealKey);
      await issue(store, '0b');
      await revoke(store, '0b', { reason: 'superseded', at, by: 'user.jane' });
      await save(store, 'media', { viewer: [] });
      return await store.state();
    });
    const restored = await restore(place, backup, options);
    t.is(restored.epoch, before.epoch + 1);
    t.like(restored.kept, { certificates: 1, revocations: 1, lost: [] });
    t.is((await checkStore(restored.replaced ?? '')).counter, before.counter);
    t.deepEqual(readdirSync(options.dataDir), [restored.replaced?.split('/').at(-1)]);
    await inStore(place, async (store) => {
      t.is((await store.state()).epoch, before.epoch + 1);
      t.is((await store.verifyAudit()).fault, undefined);
      const [record] = await store.audit({ limit: 1 });
      t.like(record, { action: 'restore', actor: 'local:jane', reason: 'disk lost' });
      t.deepEqual(
        (await store.certificates.revocationsAfter(0, at)).map(({ serial }) => serial),
        ['0b'],
      );
    });
    t.deepEqual((await check(place)).faults, []);
  });

  test('a restore into an empty database brings back the backup', async (t) => {
    const [lost, place] = [await newDatabase(), await newDatabase()];
    const backup = join(temporaryFolder(t), 'backup.db');
    await inStore(lost, (store) => save(store, 'media'));
    await backUp(lost, backup, sealKey);
    const restored = await restore(place, backup, optionsIn(t));
    t.is(restored.kept, undefined);
    t.deepEqual(await inStore(place, (store) => store.domainNames()), ['media']);
    t.true(restored.epoch > 1);
  });

  test('of two restores at once one is made, and it is the one that says so', async (t) => {
    const place = await newDatabase();
    const folder = temporaryFolder(t);
    const options = optionsIn(t);
    const backups = await Promise.all(
      ['media', 'films'].map(async (name) => {
        const lost = await newDatabase();
        await inStore(lost, (store) => save(store, name));
        await backUp(lost, join(folder, name), sealKey);
        return { name, begin: () => restore(place, join(folder, name), options) };
      }),
    );
    const ended = await Promise.allSettled(backups.map(({ begin }) => begin()));
    const made = backups.filter((_, at) => ended[at]?.status === 'fulfilled').map(({ name }) => name);
    const refusals = ended.flatMap((each) => (each.status === 'rejected' ? [String(each.reason.message)] : []));
    t.deepEqual(refusals, [`another restore is running in \`${options.dataDir}\`: wait until it has finished`]);
    t.deepEqual(await inStore(place, (store) => store.domainNames()), made);
    t.deepEqual(readdirSync(options.dataDir), []);
  });

  test('a restore that fails leaves the database as it was', async (t) => {
    const place = await newDatabase();
    const backup = join(temporaryFolder(t), 'backup.db');
    const options = optionsIn(t);
    await inStore(place, (store) => save(store, 'media'));
    await backUp(place, backup, sealKey);
    const before = await digestOf(place);
    const running = await openStore(place);
    await t.throwsAsync(restore(place, backup, options), { instanceOf: ConflictError, message: /in use/ });
    await running.close();
    // The database takes the new rows, and not the last of them.
    await server.query(place.database, 'alter table meta add constraint no_more check (epoch < 2)');
    await t.throwsAsync(restore(place, backup, options), { message: /conflicts with the stored data/ });
    t.is(await digestOf(place), before);
    t.deepEqual(readdirSync(options.dataDir), []);
    const wrong = { ...options, proof: { sealKey: Buffer.alloc(32, 8) } };
    await t.throwsAsync(restore(place, backup, wrong), { instanceOf: StoreRefusedError });
    t.is(await digestOf(place), before);
  });

  test('a database that has changed since it was merged with a backup is not replaced', async (t) => {
    const [place, other] = [await newDatabase(), await newDatabase()];
    await inStore(other, (store) => save(store, 'films'));
    await inStore(place, (store) => save(store, 'media'));
    const merged = await digestOf(place);
    await inStore(place, (store) => issue(store, '0a'));
    const now = await digestOf(place);
    const [source, target] = [await openSource(other, 'locked-out'), await openPostgresTarget(place)];
    const shapes = await tableShapes();
    await t.throwsAsync(replaceRows(source, target, { shapes, expected: merged }), {
      instanceOf: ConflictError,
      message: /was changed meanwhile/,
    });
    t.is(await digestOf(place), now);
    await replaceRows(source, target, { shapes, expected: now });
    t.is(await digestOf(place), await digestOf(other));
    await target.close();
    await source.close();
  });

  test('a backup of a database that is a partial copy is refused', async (t) => {
    const place = await newDatabase();
    await (await openPostgresTarget(place)).close();
    await server.query(place.database, 'create table copy_mark (source text)');
    const backup = join(temporaryFolder(t), 'backup.db');
    for (const refused of [
      await t.throwsAsync(backUp(place, backup, sealKey), { instanceOf: StoreRefusedError }),
      await t.throwsAsync(check(place), { instanceOf: StoreRefusedError }),
      await t.throwsAsync(restore(place, backup, optionsIn(t)), { instanceOf: StoreRefusedError }),
      await t.throwsAsync(readStoreStatus(place), { instanceOf: StoreRefusedError }),
    ])
      t.is(refused?.reason, 'partial-copy');
  });

  for (const [what, statement, fault] of [
    [
      'a reference that leads nowhere',
      `set session_replication_role = replica; delete from domains where name = 'media'`,
      /rows refer to missing rows/,
    ],
    ['a record that was changed', `update audit set actor = 'user.nobody' where id = 1`, /^audit log: /],
    [
      'a number of members',
      'update roles set member_count = 7',
      /`media:role.viewer` has a number of members that differs/,
    ],
    [
      'a revocation without a place',
      `update certificates set revoked_at = 1`,
      /1 revoked certificates have no revocation sequence number/,
    ],
    ['a feed without its head', `delete from changes where kind = 'head'`, /the change feed does not end/],
    [
      'a key that cannot be read',
      `insert into service_keys (domain, service, key_id, pem, created_at) values ('media', 'player', '0', 'x', 1)`,
      /public key `0` of service `media.player` cannot/,
    ],
  ] as const) {
    test(`a check finds ${what}`, async (t) => {
      const place = await newDatabase();
      await inStore(place, async (store) => {
        await save(store, 'media', { viewer: ['user.jane'] });
        await issue(store, '0a');
      });
      await server.query(place.database, statement);
      const { faults } = await check(place);
      t.true(
        faults.some((one) => fault.test(one)),
        faults.join('\n'),
      );
    });
  }

  test('the status of a store says where it is and who uses it', async (t) => {
    const place = await newDatabase();
    await inStore(place, async (store) => {
      await save(store, 'media', { viewer: ['user.jane'] });
      const { epoch, counter } = await store.state();
      const status = await readStoreStatus(place);
      t.like(status, { kind: 'postgres', epoch, counter, schemaSteps: Object.keys(migrations).length, estimated: [] });
      t.is(status.rows['members'], 1);
      t.is(status.place, `${server.host}/${place.database}`);
      t.regex(status.postgres?.serverVersion ?? '', /^\d+/);
      t.is(status.postgres?.primary, server.host);
      t.is(status.postgres?.maxConnections, 200);
      t.true((status.postgres?.servers[0]?.connections ?? 0) > 0);
      t.is(status.postgres?.servers[0]?.address, 'local');
      t.regex(status.postgres?.servers[0]?.since ?? '', /^\d{4}-\d\d-\d\dT/);
    });
    t.deepEqual((await readStoreStatus(place)).postgres?.servers, []);
    const copy = { kind: 'sqlite', file: join(temporaryFolder(t), 'signet.db') } as const;
    await copyStore(place, copy, { resume: false, whileRunning: false });
    const { postgres: _, ...status } = await readStoreStatus(place);
    const { kind, sizeBytes, place: file, ...same } = await readStoreStatus(copy);
    t.like(status, same);
    t.deepEqual([kind, file, sizeBytes > 0], ['sqlite', copy.file, true]);
  });

  test('a schema is brought up to date by hand', async (t) => {
    const place: Database = { ...(await newDatabase()), migrate: 'manual' };
    const refused = await t.throwsAsync(openStore(place), { instanceOf: StoreRefusedError });
    t.is(refused?.reason, 'older-schema');
    const { before, steps, made } = await migrateStore(place);
    t.deepEqual([before, made.length], [0, steps]);
    t.deepEqual(await migrateStore(place), { before: steps, steps, made: [] });
    await t.notThrowsAsync(inStore(place, (store) => save(store, 'media')));
    const unused = { kind: 'sqlite', file: join(temporaryFolder(t), 'signet.db') } as const;
    t.is((await migrateStore(unused)).made.length, steps);
    t.true(existsSync(unused.file));
  });

  test('a schema of a newer program is looked at, and not copied', async (t) => {
    const place = await newDatabase();
    await inStore(place, (store) => save(store, 'media'));
    await server.query(place.database, `insert into kysely_migration values ('999-later', '')`);
    t.is((await readStoreStatus(place)).newestStep, '999-later');
    const backup = join(temporaryFolder(t), 'backup.db');
    const refused = await t.throwsAsync(backUp(place, backup, sealKey), { instanceOf: StoreRefusedError });
    t.is(refused?.reason, 'newer-schema');
    t.false(existsSync(backup));
  });
}
