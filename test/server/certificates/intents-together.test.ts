import { parsePrincipalName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { storeKinds } from '#support/store-kinds';

/* Certificates that are about to be signed at one time are written down in one statement; whose serial number counts is said of each. */

const row = {
  issuer: 'i',
  kind: 'service',
  subject: 'media.player',
  holder: parsePrincipalName('media.player'),
  notBefore: 0,
  notAfter: 200,
} as const;

const serialOf = (number: number) => number.toString(16).padStart(32, '4');

for (const { name, place } of storeKinds) {
  test(`${name}: of intents at once only that is refused whose serial number is taken`, async (t) => {
    const store = await openStore(await place(t));
    t.teardown(() => store.close());
    const { certificates } = store;
    const intend = (number: number) => certificates.intend({ ...row, serial: serialOf(number) }, 1);
    await intend(20);
    const numbers = [...Array.from({ length: 40 }, (_, number) => number), 5];
    const outcomes = await Promise.allSettled(numbers.map(intend));
    const refused = numbers.filter((_, index) => outcomes[index]?.status === 'rejected');
    t.deepEqual(refused, [20, 5]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        t.like(outcome.reason, { name: 'ConflictError', message: 'a certificate with this serial number exists' });
      }
    }
    const orphans = await certificates.orphans(2);
    t.deepEqual(orphans.map(({ serial }) => serial).toSorted(), numbers.slice(0, 40).map(serialOf).toSorted());
  });
}
