import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { StoreUnavailableError } from '@signet/server/errors';
import type { CertificateStore } from '@signet/server/model/certificate-store';
import type { Store } from '@signet/server/model/store';
import { createKrlPublisher } from '@signet/server/ssh/revoked-krl';
import { createSshAuthorityKey, parseSshAuthority } from '@signet/server/ssh/ssh-authority';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { entriesOf, readCrl } from '@signet/server/x509/crl-reader';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { openLiveRevocations } from '@signet/server/x509/live-revocations';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { revoke } from '#support/revoke';
import { temporaryFolder } from '#support/temp';

/* Revocations of a store that lost one and has another one under the same number. */

const holder = parsePrincipalName('media.player');
const [lostSerial, keptSerial, laterSerial, lastSerial] = ['4a01', '4a02', '4a03', '4a04'];

async function openWorld(t: ExecutionContext, issuerId?: string) {
  const folder = temporaryFolder(t);
  const clock = new FakeClock(1_800_000_000_000);
  const { intermediate } = await createAuthorities(clock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const now = epochSeconds(clock);
  const files = ['kept', 'lost'].map((name) => join(folder, `${name}.db`)) as [string, string];
  const common = await openSqliteStore(files[0], { clock });
  for (const serial of [lostSerial, keptSerial, laterSerial, lastSerial]) {
    const row = { serial, issuer: issuerId ?? issuer.id, kind: 'service', subject: holder, holder } as const;
    await common.certificates.intend({ ...row, notBefore: now, notAfter: now + 50_000 }, now);
    await common.certificates.confirm(serial, `f-${serial}`);
  }
  await common.close();
  for (const suffix of ['', '.witness']) copyFileSync(`${files[0]}${suffix}`, `${files[1]}${suffix}`);
  const [kept, lost] = [await openSqliteStore(files[0], { clock }), await openSqliteStore(files[1], { clock })];
  const end = (store: Store, serial: string) =>
    revoke(store, serial, { reason: 'superseded', at: epochSeconds(clock), by: 'test' });
  t.true(await end(lost, lostSerial));
  t.true(await end(kept, keptSerial));
  let [current, isAway] = [lost, false];
  const certificates = new Proxy({} as CertificateStore, {
    get: (_, name) => {
      if (isAway) return () => Promise.reject(new StoreUnavailableError('it is away'));
      const member: unknown = Reflect.get(current.certificates, name);
      return typeof member === 'function' ? member.bind(current.certificates) : member;
    },
  });
  const missing: (readonly string[])[] = [];
  const revocations = await openLiveRevocations({
    certificates,
    clock,
    refreshIntervalMs: 3_600_000,
    onError: (error) => t.fail(String(error)),
    onMissing: (serials) => missing.push(serials),
  });
  t.teardown(async () => {
    await revocations.close();
    await kept.close();
    await lost.close();
  });
  return {
    clock,
    kept,
    lost,
    issuer,
    certificates,
    revocations,
    missing,
    end,
    become: (store: Store) => {
      current = store;
    },
    away: (is: boolean) => {
      isAway = is;
    },
  };
}

test('what was revoked stays so, and what was revoked instead is learned', async (t) => {
  const { kept, revocations, missing, end, become, away } = await openWorld(t);
  t.deepEqual([revocations.has(lostSerial), revocations.sequence], [true, 1]);
  become(kept);
  await revocations.refresh();
  t.false(revocations.has(keptSerial), 'by its number nobody would notice');
  away(true);
  await t.throwsAsync(revocations.reread(), { instanceOf: StoreUnavailableError });
  t.true(revocations.has(lostSerial));
  t.is(revocations.rereadAt, 0);
  away(false);
  await revocations.refresh();
  t.deepEqual([revocations.has(lostSerial), revocations.has(keptSerial)], [true, true]);
  t.deepEqual(
    [revocations.hasThumbprint(`f-${lostSerial}`), revocations.hasThumbprint(`f-${keptSerial}`)],
    [true, true],
  );
  t.deepEqual(missing, [[lostSerial]], 'an operator is told what to revoke again');
  t.true(await end(kept, laterSerial));
  await revocations.refresh();
  t.deepEqual([revocations.has(laterSerial), revocations.sequence], [true, 2]);
  t.true(await end(kept, lostSerial));
  await revocations.reread();
  t.is(missing.length, 1, 'it is there now');
});

test('numbers that were further than those of the store: what is revoked from then on is learned', async (t) => {
  const { kept, lost, revocations, end, become } = await openWorld(t);
  t.true(await end(lost, laterSerial));
  await revocations.refresh();
  t.is(revocations.sequence, 2);
  become(kept);
  await revocations.reread();
  t.is(revocations.sequence, 1);
  t.true(await end(kept, lastSerial));
  await revocations.refresh();
  t.true(revocations.has(lastSerial));
});

test('a list that was made before another history was read is made again, and holds what is lost', async (t) => {
  const { clock, kept, issuer, certificates, revocations, become } = await openWorld(t);
  let turns = 0;
  const crls = createCrlPublisher({
    issuers: { current: () => ({ active: [issuer], draining: [], rootsPem: '', rootLists: [] }) },
    revocations,
    certificates,
    clock,
    lifetimeSeconds: 86_400,
    pace: { now: () => (turns += 1000), wait: async () => undefined },
  });
  const serials = async () => entriesOf(readCrl((await crls.current()).der)).map(({ serial }) => serial);
  const first = await crls.current();
  t.deepEqual(await serials(), [lostSerial]);
  become(kept);
  clock.advance(10_000);
  // Not noticed yet: a list of the number of another revocation is put into the store.
  t.deepEqual(await serials(), [lostSerial]);
  clock.advance(10_000);
  await revocations.reread();
  clock.advance(1000);
  t.deepEqual((await serials()).toSorted(), [lostSerial, keptSerial]);
  const last = await crls.current();
  t.true(last.number > first.number);
  clock.advance(60_000);
  t.is(await crls.current(), last, 'once');
});

test('a list for sshd holds what is revoked here and lost in the store', async (t) => {
  const authority = parseSshAuthority(createSshAuthorityKey(), 'key');
  const { kept, clock, certificates, revocations, become } = await openWorld(t, authority.publicKey.fingerprint);
  become(kept);
  await revocations.reread();
  const pace = { now: () => 0, wait: async () => undefined };
  const deps = { certificates, authorities: [authority], clock, pace };
  const holds = (krl: Buffer, serial: string) => krl.includes(Buffer.from(serial.padStart(16, '0'), 'hex'));
  const without = await createKrlPublisher(deps)();
  t.deepEqual([holds(without, lostSerial), holds(without, keptSerial)], [false, true]);
  const krl = await createKrlPublisher({ ...deps, live: revocations })();
  t.deepEqual([holds(krl, lostSerial), holds(krl, keptSerial)], [true, true]);
});
