import { join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { spendJoinToken } from '#support/spend-join-token';
import { takeBack } from '#support/store-before';
import { temporaryFolder } from '#support/temp';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const holder = parsePrincipalName('media.player');

test('a store of before goes on: lineage and join tokens count, SSH has to be allowed again', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  const row = { issuer: 'i', kind: 'instance', subject: 'media.player', notBefore: 0, notAfter: 900 } as const;
  for (const serial of ['01', '02', '03']) {
    await store.certificates.intend({ ...row, ...key, serial, holder }, 1);
  }
  const given = (serial: string) => ({ serial, fingerprint: 'f', notAfter: 900, sshAllowed: true });
  await store.instances.register(key, given('01'), { clientOnly: false, sshAllowed: true, at: 1 });
  t.is(await store.instances.rotate(key, { serial: '01', at: 2 }, given('02')), 'moved');
  await store.instances.addJoinToken('digest', { ...key, expires: 900, createdBy: holder });
  await store.close();
  await takeBack(file, '008-lineage');

  const again = await openSqliteStore(file);
  t.teardown(() => again.close());
  t.like(await again.instances.find(key), {
    currentSerial: '02',
    previousSerial: '01',
    previousUsed: false,
    sshAllowed: false,
  });
  t.like(await again.certificates.find('02'), { state: 'issued', vouchedKey: undefined });
  t.is(await again.instances.rotate(key, { serial: '01', at: 3 }, given('03')), 'moved', 'a lost answer of before');
  t.like(await again.instances.find(key), { previousUsed: true, sshAllowed: true });
  t.true(await spendJoinToken(again, 'digest', key, 4));
  t.is(await again.instances.spendAttestationToken('jti', key, 900), 'first');
});
