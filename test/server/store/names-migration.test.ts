import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { takeBack } from '#support/store-before';
import { temporaryFolder } from '#support/temp';

test('a store of before keeps the form in DNS with the older of two domains, says so, and knows what was deleted', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const by = { actor: 'test' };
  const save = async (...names: readonly string[]) => {
    const store = await openSqliteStore(file);
    await store.change(by, async (transaction) => {
      for (const name of names) await saveDomain(transaction, domainContent({ name, services: { api: {} } }));
    });
    await store.close();
  };
  await save('zoo.a', 'gone', 'other');
  const first = await openSqliteStore(file);
  await first.change(by, async (transaction) => {
    await saveDomain(transaction, domainContent({ name: 'other' }));
    await transaction.deleteDomain(parseDomainName('gone'));
  });
  await first.close();
  // What could be made then, and later than the other.
  const later = `insert into domains (name, enabled, deleted, version, modified, changed_at, require_reason)
    values ('zoo-a', 1, 0, 1, 1, 1, 0)`;
  await takeBack(file, '009-names', later);

  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  const formOf = async (name: string) => (await store.domain(parseDomainName(name)))?.dnsForm;
  t.is(await formOf('zoo.a'), 'zoo-a', 'the older one, although its name comes later');
  t.is(await formOf('zoo-a'), undefined);
  t.is(await formOf('other'), 'other');
  t.deepEqual(
    (await store.view((reader) => reader.endedNames(['gone', 'gone.api', 'other.api', 'zoo.a.api']))).map(
      ({ name }) => name,
    ),
    ['gone', 'gone.api', 'other.api'],
  );
  const check = await checkStore(file);
  t.deepEqual(check.notes, ['domain `zoo-a` has no DNS names: another domain has its form `zoo-a`']);
  t.deepEqual(check.faults, []);

  await store.change(by, async (transaction) => {
    await transaction.deleteDomain(parseDomainName('zoo.a'));
    await saveDomain(transaction, domainContent({ name: 'zoo-a', services: { web: {} } }));
  });
  t.is(await formOf('zoo-a'), 'zoo-a', 'free, it goes to the other one with its next change');
  t.deepEqual((await checkStore(file)).notes, []);
});
