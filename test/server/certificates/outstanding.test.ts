import { parsePrincipalName } from '@signet/policy-engine/names';
import type { CertificateKind } from '@signet/server/model/certificate-store';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { storeKinds } from '#support/store-kinds';

const holder = parsePrincipalName('media.player');
const server = parsePrincipalName('sys.auth.server');
const now = 1_800_000_000;

for (const { name, place } of storeKinds) {
  test(`${name}: what is in force of each issuer is counted, with the end of the last one`, async (t) => {
    const store = await openStore(await place(t));
    t.teardown(() => store.close());
    const { certificates } = store;
    t.deepEqual(await certificates.outstanding(now, server), []);
    let number = 0;
    const add = async (
      issuer: string,
      notAfter: number,
      kind = 'instance',
      isIssued = true,
      whose = holder,
    ): Promise<string> => {
      number += 1;
      const serial = number.toString(16).padStart(32, '4');
      const row = {
        serial,
        issuer,
        kind: kind as CertificateKind,
        subject: whose,
        holder: whose,
        notBefore: 0,
        notAfter,
      };
      await certificates.intend(row, now);
      if (isIssued) await certificates.confirm(serial, `fingerprint-${serial}`);
      return serial;
    };
    await add('aa', now);
    await add('aa', now + 9, 'role');
    await add('aa', now + 8, 'service');
    await add('aa', now + 99, 'ssh-user');
    await add('aa', now + 99, 'service', false);
    await add('aa', now + 99, 'service', true, server);
    await add('bb', now - 1);
    await add('cc', now + 7, 'user');
    const revoked = await add('cc', now + 50);
    await store.change({ actor: 'test' }, (change) =>
      change.revokeCertificate(revoked, { reason: 'superseded', at: now, by: 'test' }),
    );
    t.deepEqual(await certificates.outstanding(now, server), [
      { issuer: 'aa', count: 3, lastEnd: now + 9 },
      { issuer: 'cc', count: 1, lastEnd: now + 7 },
    ]);
  });
}
