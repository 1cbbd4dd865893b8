import { join } from 'node:path';
import { epochSeconds } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { entriesOf, readCrl } from '@signet/server/x509/crl-reader';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { openLiveRevocations } from '@signet/server/x509/live-revocations';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { revoke } from '#support/revoke';
import { takeBack } from '#support/store-before';
import { temporaryFolder } from '#support/temp';

test('after the step the next list goes on with the number of before, and holds what ended since', async (t) => {
  const clock = new FakeClock(1_800_000_000_000);
  const file = join(temporaryFolder(t), 'signet.db');
  const { intermediate } = await createAuthorities(clock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const now = epochSeconds(clock);
  const before = await openSqliteStore(file, { clock });
  const holder = parsePrincipalName('media.player');
  const row = { issuer: issuer.id, kind: 'service', subject: 'media.player', holder, notBefore: now } as const;
  const ends = { '41': now + 100, '42': now + 9999 };
  for (const [serial, notAfter] of Object.entries(ends)) {
    await before.certificates.intend({ ...row, serial, notAfter }, now);
    t.true(await revoke(before, serial, { reason: 'superseded', at: now, by: 'test' }));
  }
  await before.close();
  // A clock that was far ahead: no time of now is greater.
  const number = now + 1_000_000;
  await takeBack(file, '016-revocation-lists', `insert into crl_numbers values ('${issuer.id}', ${number})`);

  clock.advance(500_000);
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  const { certificates } = store;
  t.deepEqual(await certificates.lastCrl(issuer.id), { number, sequence: 0, thisUpdate: 0, nextUpdate: 0 });
  const set = { active: [issuer], draining: [], rootsPem: '', rootLists: [] };
  const revocations = await openLiveRevocations({
    certificates,
    clock,
    refreshIntervalMs: 9e5,
    onError: () => t.fail(),
  });
  t.teardown(() => revocations.close());
  const issuers = { current: () => set };
  const crls = createCrlPublisher({ issuers, revocations, certificates, clock, lifetimeSeconds: 600 });
  const list = await crls.current();
  t.is(list.number, number + 1);
  t.deepEqual(
    entriesOf(readCrl(list.der)).map(({ serial }) => serial),
    ['41', '42'],
  );
  t.deepEqual((await checkStore(file)).faults, []);
});
