import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { writeTime } from '@signet/server/x509/certificate-times';
import { buildCrl } from '@signet/server/x509/crl';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import test from 'ava';
import { FakeClock } from '#support/clock';

/* Content between the times of a list and its extensions. */

const { intermediate } = await createAuthorities(new FakeClock());
const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
const nextUpdate = 1_767_312_000;

test('the entries of a list are absent when nothing is revoked, and not an empty list', async (t) => {
  const built = async (serials: readonly string[]) => {
    const revoked = serials.map((serial) => ({ serial, revokedAt: nextUpdate - 9, reason: 'superseded' as const }));
    const der = await buildCrl(issuer, { revoked, number: 1n, thisUpdate: nextUpdate - 600, nextUpdate });
    const text = der.toString('hex');
    const time = writeTime(nextUpdate).toString('hex');
    return text.slice(text.indexOf(time) + time.length);
  };
  t.regex(await built([]), /^a0/, 'the extensions follow at once');
  t.regex(await built(['41']), /^30[0-9a-f]{2}30[0-9a-f]{2}020141/);
});
