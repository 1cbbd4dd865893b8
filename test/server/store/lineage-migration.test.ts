import { join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import test from 'ava';
import Database from 'better-sqlite3';
import { temporaryFolder } from '#support/temp';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const holder = parsePrincipalName('media.player');

/** Takes the step back, so that the file is as the version before it left it. */
const undo = `
  drop index certificates_by_key;
  drop index certificates_by_asking;
  drop index join_tokens_of_instance;
  drop table attestation_tokens;
  alter table instances drop column previous_used;
  alter table instances drop column ssh_allowed;
  alter table certificates drop column vouched_key;
  alter table certificates drop column asking_serial;
  alter table join_tokens drop column ended_at;
  delete from kysely_migration where name = '008-lineage';
`;

test('a store of before goes on: lineage and join tokens count, SSH has to be allowed anew', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  const row = { issuer: 'i', kind: 'instance', subject: 'media.player', notBefore: 0, notAfter: 900 } as const;
  for (const serial of ['01', '02', '03']) {
    await store.certificates.intend({ ...row, ...key, serial, holder }, 1);
  }
  const given = (serial: string) => ({ serial, fingerprint: 'f', notAfter: 900, sshAllowed: true });
  await store.instances.register(key, given('01'), { clientOnly: false, sshAllowed: true }, 1);
  t.is(await store.instances.rotate(key, '01', given('02'), 2), 'moved');
  await store.instances.addJoinToken('digest', { ...key, expires: 900, createdBy: holder });
  await store.close();
  const database = new Database(file);
  database.exec(undo);
  database.close();

  const again = await openSqliteStore(file);
  t.teardown(() => again.close());
  t.like(await again.instances.find(key), {
    currentSerial: '02',
    previousSerial: '01',
    previousUsed: false,
    sshAllowed: false,
  });
  t.like(await again.certificates.find('02'), { state: 'issued', vouchedKey: undefined });
  t.is(await again.instances.rotate(key, '01', given('03'), 3), 'moved', 'a lost answer of before');
  t.like(await again.instances.find(key), { previousUsed: true, sshAllowed: true });
  t.true(await again.instances.spendJoinToken('digest', key, 4));
  t.is(await again.instances.spendAttestationToken('jti', key, 900), 'first');
});
