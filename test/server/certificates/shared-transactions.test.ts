import { join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const token = { ...key, expires: 100, createdBy: parsePrincipalName('media.admin') };

test('of changes that share a transaction, only the one that fails fails', async (t) => {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const add = (digest: string) => store.instances.addJoinToken(digest, token);
  const outcomes = await Promise.allSettled([add('a'), add('b'), add('a'), add('c')]);
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
  const spend = (digest: string) => store.instances.spendJoinToken(digest, key, 50);
  t.deepEqual(await Promise.all(['a', 'b', 'c', 'a', 'd'].map(spend)), [true, true, true, false, false]);
  await add('e');
  t.deepEqual(
    await Promise.all([store.instances.spendJoinToken('e', key, 100), spend('e')]),
    [false, true],
    'at its end it has ended',
  );
});

test('two stores on one file spend a token once', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const stores = [await openSqliteStore(file), await openSqliteStore(file)];
  t.teardown(() => Promise.all(stores.map((store) => store.close())));
  await stores[0]?.instances.addJoinToken('a', token);
  const spent = await Promise.all(
    Array.from({ length: 20 }, (_, i) => stores[i % 2]?.instances.spendJoinToken('a', key, 50)),
  );
  t.is(spent.filter((one) => one === true).length, 1);
});
