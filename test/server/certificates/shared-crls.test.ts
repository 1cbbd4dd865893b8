import { randomBytes } from 'node:crypto';
import { epochSeconds } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { buildCrl } from '@signet/server/x509/crl';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { entriesOf, isCrlOf, readCrl } from '@signet/server/x509/crl-reader';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { openLiveRevocations } from '@signet/server/x509/live-revocations';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { revoke } from '#support/revoke';
import { type StoreKind, storeKinds } from '#support/store-kinds';

/* Revocation lists of several servers on one store. Lists live for 1000 seconds. */

const holder = parsePrincipalName('media.player');

async function world(t: ExecutionContext, { place }: StoreKind) {
  const clock = new FakeClock(1_800_000_000_000);
  const at = await place(t);
  const { intermediate } = await createAuthorities(clock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const set = { active: [issuer], draining: [], rootsPem: '', rootLists: [] };
  const server = async () => {
    const store = await openStore(at, { clock });
    t.teardown(() => store.close());
    const { certificates } = store;
    const live = {
      certificates,
      clock,
      refreshIntervalMs: 3_600_000,
      onError: (error: unknown) => t.fail(String(error)),
    };
    const revocations = await openLiveRevocations(live);
    t.teardown(() => revocations.close());
    const pace = { now: () => (turns += 1000), wait: async () => undefined };
    const crls = createCrlPublisher({
      issuers: { current: () => set },
      revocations,
      certificates,
      clock,
      lifetimeSeconds: 1000,
      pace,
    });
    return { store, revocations, crls };
  };
  let turns = 0;
  /** Certificate that expires in `seconds`, revoked. */
  const revoked = async ({ store }: Awaited<ReturnType<typeof server>>, seconds: number) => {
    const [serial, now] = [randomBytes(8).toString('hex').replace(/^./, '4'), epochSeconds(clock)];
    const row = { serial, issuer: issuer.id, kind: 'service', subject: holder, holder } as const;
    await store.certificates.intend({ ...row, notBefore: now, notAfter: now + seconds }, now);
    t.true(await revoke(store, serial, { reason: 'superseded', at: now, by: 'test' }));
    return serial;
  };
  return { clock, server, revoked, issuer };
}

for (const kind of storeKinds) {
  test(`${kind.name}: two servers give out the same list, and its number never falls`, async (t) => {
    const { clock, server, revoked } = await world(t, kind);
    const [one, two] = [await server(), await server()];
    const seen: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const by = round % 2 === 0 ? one : two;
      await revoked(by, 5000);
      await by.revocations.refresh();
      const lists = [
        await by.crls.current(),
        await one.crls.current(),
        await two.crls.current(),
        await one.crls.current(),
      ];
      t.deepEqual(new Set(lists.map(({ digest }) => digest)).size, 1, 'one list, byte by byte');
      seen.push(...lists.map(({ number }) => number));
      clock.advance(round * 100_000);
    }
    t.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    t.is(new Set(seen).size, 6);
  });

  test(`${kind.name}: two servers that make a list at once: one of them takes that of the other`, async (t) => {
    const { server, revoked } = await world(t, kind);
    const [one, two] = [await server(), await server()];
    await revoked(one, 5000);
    await Promise.all([one, two].map(({ revocations }) => revocations.refresh()));
    const [mine, theirs] = await Promise.all([one.crls.current(), two.crls.current()]);
    t.is(mine?.digest, theirs?.digest);
  });

  test(`${kind.name}: a server that starts again goes on with the last list, and a number is never used twice`, async (t) => {
    const { clock, server, revoked } = await world(t, kind);
    const before = await server();
    const first = await before.crls.current();
    const after = await server();
    t.is((await after.crls.current()).digest, first.digest);
    clock.advance(-3_600_000);
    await revoked(after, 9000);
    await after.revocations.refresh();
    t.is((await after.crls.current()).number, first.number + 1, 'also by a clock that was set back');
  });

  test(`${kind.name}: an entry stays until it has stood on a list that was issued after the end of its certificate`, async (t) => {
    const { clock, server, revoked } = await world(t, kind);
    const one = await server();
    const serial = await revoked(one, 600);
    await one.revocations.refresh();
    const holds = async (by = one) => {
      const list = readCrl((await by.crls.current()).der);
      return { holds: entriesOf(list).some((entry) => entry.serial === serial), thisUpdate: list.thisUpdate };
    };
    const end = epochSeconds(clock) + 600;
    t.true((await holds()).holds);
    clock.advance(700_000);
    const second = await holds();
    t.true(second.holds && second.thisUpdate <= end, 'the list begins before the end: clocks of readers may be behind');
    clock.advance(600_000);
    const third = await holds(await server());
    t.true(third.holds && third.thisUpdate > end, 'also by a server that never knew it');
    clock.advance(600_000);
    t.false((await holds()).holds);
  });

  test(`${kind.name}: a list in the store that the issuer has not signed is not given out`, async (t) => {
    const { clock, server, issuer } = await world(t, kind);
    const one = await server();
    const { root } = await createAuthorities(clock);
    const strange = { ...issuerFromPem(root.certificate, root.key), name: issuer.name };
    const times = { thisUpdate: epochSeconds(clock), nextUpdate: epochSeconds(clock) + 99_999 };
    const der = await buildCrl(strange, { revoked: [], number: 7n, ...times });
    t.true(await one.store.certificates.publishCrl(issuer.id, { der, number: 7, sequence: 9, ...times }, undefined));
    const given = readCrl((await one.crls.current()).der);
    t.true(isCrlOf(given, issuer));
    t.false(isCrlOf(readCrl(der), issuer));
    t.true(given.number > 7n);
  });
}
