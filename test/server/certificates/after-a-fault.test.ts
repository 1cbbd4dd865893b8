import { randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { parsePrincipalName } from '@signet/policy-engine/names';
import type { StorePlace } from '@signet/server/config/store-place';
import { StoreUnavailableError } from '@signet/server/errors';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import test, { type ExecutionContext } from 'ava';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { storeKinds } from '#support/store-kinds';

/* A fault of the store that has passed is told to none of the requests that come after it. */

const holder = parsePrincipalName('media.player');

function intend(store: Store): Promise<void> {
  const serial = randomBytes(16).toString('hex');
  const row = { serial, issuer: 'i', kind: 'instance', subject: holder, notBefore: 0, notAfter: 99 } as const;
  return store.certificates.intend({ ...row, holder }, 1);
}

async function opened(t: ExecutionContext, place: StorePlace): Promise<Store> {
  const store = await openStore(place);
  t.teardown(() => store.close());
  await intend(store);
  return store;
}

/** Requires that of more requests than a batch has room for, one after the other and then all at once, none fails. */
async function goesOn(t: ExecutionContext, store: Store): Promise<void> {
  for (let request = 0; request < 17; request += 1) await t.notThrowsAsync(intend(store), `request ${request}`);
  await t.notThrowsAsync(Promise.all(Array.from({ length: 17 }, () => intend(store))));
}

for (const { name, place } of storeKinds.filter((kind) => kind.name === 'SQLite')) {
  for (const atOnce of [1, 2, 20]) {
    test(`${name}: the file is gone while ${atOnce} ask, and is back: the next certificate is written down`, async (t) => {
      const at = await place(t);
      const store = await opened(t, at);
      const file = at.kind === 'sqlite' ? at.file : '';
      renameSync(file, `${file}.away`);
      const failed = await Promise.allSettled(Array.from({ length: atOnce }, () => intend(store)));
      t.deepEqual([...new Set(failed.map(({ status }) => status))], ['rejected']);
      renameSync(`${file}.away`, file);
      await goesOn(t, store);
    });
  }
}

const postgresTest = postgresPrograms === undefined ? test.skip : test;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

postgresTest('PostgreSQL is stopped while some ask, and started: the next certificate is written down', async (t) => {
  const database = await startPostgres(t);
  const at: StorePlace = { kind: 'postgres', ...database.settings(await database.createDatabase()) };
  // Several stores like a server's processes: each finds the primary by itself.
  const stores = [await opened(t, at), await opened(t, at), await opened(t, at)];
  for (let round = 0; round < 3; round += 1) {
    await database.stop();
    for (const store of stores) await t.throwsAsync(intend(store), { instanceOf: StoreUnavailableError });
    await database.start();
    for (const store of stores) await t.notThrowsAsync(intend(store), `round ${round}`);
  }
  for (const store of stores) await goesOn(t, store);
});
