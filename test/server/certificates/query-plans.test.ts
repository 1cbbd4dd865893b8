import { join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import Database from 'better-sqlite3';
import { publishNextCrl } from '#support/crl-store';
import { temporaryFolder } from '#support/temp';

/* Each statement that this process prepares: what it costs in a full store is asked of SQLite itself. */
const prepared = new Set<string>();
const { prepare } = Database.prototype;
Reflect.set(Database.prototype, 'prepare', function (this: Database.Database, sql: string) {
  prepared.add(sql);
  return prepare.call(this, sql);
});

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const holder = parsePrincipalName('media.player');
const revocation = { reason: 'superseded', at: 1, by: 'test' } as const;

async function issue(store: Store, serial: string) {
  const row = { serial, issuer: 'i', kind: 'instance', subject: 'media.player', notBefore: 0, notAfter: 9 } as const;
  await store.certificates.intend({ ...row, holder, provider: key.provider, instanceId: key.instanceId }, 0);
  return { serial, fingerprint: 'f', notAfter: 9 };
}

async function live(store: Store): Promise<void> {
  const { certificates, instances } = store;
  await instances.addJoinToken('digest', { ...key, expires: 9, createdBy: holder });
  await instances.isJoinTokenOpen('digest', key, 1);
  await instances.register(key, await issue(store, '01'), { clientOnly: false, joinToken: 'digest', at: 1 });
  await instances.statusOf(key, '01');
  await instances.statusOf(key, '00');
  await instances.rotate(key, { serial: '01', at: 1 }, await issue(store, '02'));
  await instances.rotate(key, { serial: '00', at: 1 }, await issue(store, '03'));
  await instances.find(key);
  await certificates.confirm('03', 'f');
  await certificates.find('03');
  await certificates.orphans(5);
  await store.change({ actor: 'test' }, (change) => change.revokeCertificate('03', revocation));
  await store.change({ actor: 'test' }, (change) => change.revokeInstance(key, revocation));
  await store.change({ actor: 'test' }, (change) => change.removeInstance(key, revocation));
  await certificates.revocationsAfter(0, 0);
  await certificates.lastRevocation();
  await certificates.lastCrl('i');
  for (let lists = 0; lists < 2; lists += 1) await publishNextCrl(certificates, 'i');
  await certificates.endedRevocations('i', 0, 9);
  await certificates.prune(99, 10);
  await instances.pruneJoinTokens(99, 10);
}

test('no statement on what is issued reads a whole table', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await (await openSqliteStore(file)).close();
  prepared.clear();
  const store = await openSqliteStore(file, {});
  await live(store);
  await store.close();
  const statements = [...prepared].filter((sql) => /"(certificates|instances|join_tokens|revocation_lists)"/.test(sql));
  t.true(statements.length >= 20, `${statements.length} statements`);

  const database = new Database(file);
  t.teardown(() => database.close());
  const steps = statements.flatMap((sql) => {
    const values = Array.from(sql.matchAll(/\?/g), () => null);
    const plan: Database.Statement<unknown[]> = prepare.call(database, `explain query plan ${sql}`);
    return plan.all(...values).map((row) => `${new Map(Object.entries(row ?? {})).get('detail')}`);
  });
  t.deepEqual(
    steps.filter((step) => step.startsWith('SCAN') && !step.startsWith('SCAN CONSTANT ROW')),
    [],
  );
});
