import { isDue } from '@signet/server/x509/renew-server-certificate';
import test from 'ava';

/* When the server replaces its own certificate. */

const cases: [note: string, now: number, due: boolean][] = [
  ['a second before it begins', 999, true],
  ['at its beginning', 1000, false],
  ['when a third is left', 3000, false],
  ['a second later', 3001, true],
  ['when it has ended', 4001, true],
];
for (const [note, now, due] of cases) {
  test(`a certificate is due: ${note}`, (t) => t.is(isDue({ notBefore: 1000, notAfter: 4000 }, now), due));
}
