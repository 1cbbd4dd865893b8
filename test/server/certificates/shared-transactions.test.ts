import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { spendJoinToken } from '#support/spend-join-token';
import { storeKinds } from '#support/store-kinds';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const token = { ...key, expires: 100, createdBy: parsePrincipalName('media.admin') };

for (const { name, place } of storeKinds) {
  test(`${name}: of changes that share a transaction, only the one that fails fails`, async (t) => {
    const store = await openStore(await place(t));
    t.teardown(() => store.close());
    const add = (digest: string) => store.instances.addJoinToken(digest, token);
    const outcomes = await Promise.allSettled([add('a'), add('b'), add('a'), add('c')]);
    t.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    const spend = (digest: string) => spendJoinToken(store, digest, key, 50);
    t.deepEqual(await Promise.all(['a', 'b', 'c', 'a', 'd'].map(spend)), [true, true, true, false, false]);
    await add('e');
    t.deepEqual(
      await Promise.all([spendJoinToken(store, 'e', key, 100), spend('e')]),
      [false, true],
      'at its end it has ended',
    );
  });

  test(`${name}: two open stores spend a token once`, async (t) => {
    const at = await place(t);
    const first = await openStore(at);
    const stores = [first, await openStore(at)];
    t.teardown(() => Promise.all(stores.map((store) => store.close())));
    await first.instances.addJoinToken('a', token);
    const spent = await Promise.all(
      Array.from({ length: 20 }, (_, i) => spendJoinToken(stores[i % 2] ?? first, 'a', key, 50)),
    );
    t.is(spent.filter((one) => one === true).length, 1);
  });
}
