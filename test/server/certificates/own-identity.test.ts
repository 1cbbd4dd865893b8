import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { signetForms } from '@signet/server/x509/name-forms';
import { createOwnIdentity } from '@signet/server/x509/own-identity';
import test from 'ava';
import { FakeClock } from '#support/clock';

/* Life of the server's own client certificate. */

const halfDay = 43_200_000;
const hour = 3_600_000;

async function world() {
  const clock = new FakeClock();
  const { intermediate } = await createAuthorities(clock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const confirmed: string[] = [];
  const identity = createOwnIdentity({
    issuers: { signing: () => issuer },
    certificates: {
      intend: async () => undefined,
      confirm: async (serial: string) => void confirmed.push(serial),
    } as never,
    clock,
    randomBytes,
    rules: { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms },
  });
  return { clock, identity, confirmed };
}

test('it names the server, fits its key, lasts a day and is recorded', async (t) => {
  const { clock, identity, confirmed } = await world();
  const { certificate, key } = await identity();
  const leaf = new X509Certificate(certificate);
  t.is(leaf.subject, 'CN=sys.auth.server');
  t.is(leaf.subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/sys.auth.server');
  t.true(leaf.checkPrivateKey(createPrivateKey(key)));
  t.is(leaf.validToDate.getTime() - clock.now(), 2 * halfDay);
  t.deepEqual(confirmed, [leaf.serialNumber.toLowerCase()]);
});

const ages: [note: string, ms: number, isKept: boolean][] = [
  ['at once', 0, true],
  ['a second before half of its life', halfDay - 1000, true],
  ['at half of its life', halfDay, false],
  ['when it has ended', 3 * halfDay, false],
  ['at a clock that was set back, and it has begun', 1000 - hour, true],
  ['at a clock that was set back to where it begins', -hour, false],
  ['at a clock that was set back, and it has not begun', -hour - 1000, false],
];
for (const [note, ms, isKept] of ages) {
  test(`asked again ${note}: ${isKept ? 'the same' : 'another'}`, async (t) => {
    const { clock, identity, confirmed } = await world();
    const first = await identity();
    clock.advance(ms);
    const second = await identity();
    t.is(second === first, isKept);
    t.is(confirmed.length, isKept ? 1 : 2);
    t.is(await identity(), second);
  });
}

test('who asks while one is made gets that one', async (t) => {
  const { identity, confirmed } = await world();
  const [first, second] = await Promise.all([identity(), identity()]);
  t.is(first, second);
  t.is(confirmed.length, 1);
});
