import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTimestamp } from '@signet/policy-engine/clock';
import { createBundlePublisher } from '@signet/server/bundles/publish-bundle';
import type { Store } from '@signet/server/model/store';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { contentsOf } from '#support/store-contents';

/** Published output of version 0.1.0 for the store that it wrote: of each domain the tags and the payload, of keys named `fixture-key`. */
interface Published {
  readonly now: number;
  readonly auditHead: string;
  readonly bundles: Readonly<Record<string, { entityTag: string; derEntityTag: string; payload: string }>>;
}

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const published: Published = JSON.parse(fixture('store-0.1.0.json'));
const clock = new FakeClock(published.now);
/** Before any domain is issued again: that it is at a time of its own came later. */
const soon = new FakeClock(parseTimestamp('2026-11-20T10:15:00Z') ?? 0);

async function openUpgraded(t: ExecutionContext): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-before-'));
  const file = join(folder, 'signet.db');
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.exec(fixture('store-0.1.0.sql'));
  database.close();
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(`${file}${suffix}`)) chmodSync(`${file}${suffix}`, 0o600);
  const store = await openSqliteStore(file, { clock });
  t.teardown(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

async function publishAll(store: Store): Promise<Published['bundles']> {
  const { snapshot, problems } = compileSnapshot(undefined, await contentsOf(store));
  if (problems.length > 0) throw new Error('a domain cannot be compiled');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const active = { token: undefined, bundle: undefined, accessToken: undefined, idToken: undefined };
  const publisher = createBundlePublisher({
    snapshot: () => snapshot,
    keys: {
      current: () => ({ ...active, published: [], missing: [] }),
      key: () => ({ kid: 'fixture-key', privateKey }),
    },
    clock: soon,
    lifetimeSeconds: 7 * 86_400,
  });
  const bundles = [...snapshot.domains].map(async ([name, domain]) => {
    const [entityTag = '', derEntityTag = '', ownEntityTag = ''] = (['p1363', 'der', 'rfc7515'] as const).map(
      // Tags of 0.1 were strong; the tag from a host is compared without that.
      (form) => publisher.publish(domain, form).entityTag.replace(/^W\//, ''),
    );
    const [payload = '', ownPayload = ''] = await Promise.all(
      (['p1363', 'rfc7515'] as const).map(async (form) => {
        const { json } = await publisher.publish(domain, form).issue();
        return Buffer.from(JSON.parse(Buffer.concat(json).toString()).payload, 'base64url').toString();
      }),
    );
    // What hosts get has another header since, and so a tag of its own; it is no other policy to them.
    if (ownPayload !== payload) throw new Error('the two forms differ in what they carry');
    if (ownEntityTag !== entityTag.replace('.p1363', '.rfc7515')) throw new Error(`the tag is ${ownEntityTag}`);
    return [name, { entityTag, derEntityTag, payload }];
  });
  return Object.fromEntries(await Promise.all(bundles));
}

test('a store of version 0.1.0 publishes the bytes that it published, under the tags that hosts have', async (t) => {
  const store = await openUpgraded(t);
  t.deepEqual(await publishAll(store), published.bundles);
  t.is((await store.verifyAudit(published.auditHead)).fault, undefined);
});
