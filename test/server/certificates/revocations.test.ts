import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { storeKinds } from '#support/store-kinds';
import { countTurns } from '#support/turns';

for (const { name, place } of storeKinds) {
  test(`${name}: many revocations are read in slices, all of them in their order, and others have their turns`, async (t) => {
    const store = await openStore(await place(t));
    t.teardown(() => store.close());
    const key = {
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement('i-1'),
    };
    const row = {
      issuer: 'i',
      kind: 'instance',
      subject: 'media.player',
      holder: parsePrincipalName('media.player'),
      provider: key.provider,
      instanceId: key.instanceId,
      notBefore: 0,
    } as const;
    const serials = Array.from({ length: 1200 }, (_, i) => i.toString(16).padStart(4, '0'));
    const ends = (i: number) => (i % 3 === 0 ? 150 : 200);
    await Promise.all(serials.map((serial, i) => store.certificates.intend({ ...row, serial, notAfter: ends(i) }, 0)));
    const revocation = { reason: 'superseded', at: 100, by: 'test' } as const;
    t.true(await store.change({ actor: 'test' }, (change) => change.removeInstance(key, revocation)));

    const turns = countTurns();
    const all = await store.certificates.revocationsAfter(0, 100);
    t.true(turns() >= 2);
    t.deepEqual(
      all.map(({ serial, sequence }) => [serial, sequence]),
      serials.map((serial, i) => [serial, i + 1]),
    );
    t.is((await store.certificates.revocationsAfter(0, 151)).length, 800, 'those that have ended are left out');
    t.deepEqual(
      (await store.certificates.revocationsAfter(1199, 0)).map(({ serial }) => serial),
      ['04af'],
    );
  });
}
