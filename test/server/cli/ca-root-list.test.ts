import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { renewRootList } from '@signet/server/cli/ca';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { crlFromFile, entriesOf, readCrl } from '@signet/server/x509/crl-reader';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

test('what several revoke at once is all in the list', async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const [certificate, key, out] = [at('root.pem'), at('root.key.pem'), at('root.crl.pem')];
  const { root } = await createAuthorities(systemClock, { trustDomain: 'corp.example' });
  writeFileSync(certificate, root.certificate);
  writeFileSync(key, root.key, { mode: 0o600 });
  const serials = ['0a', '0b', '0c'];
  const options = { certificate, key, out, reason: 'superseded' } as const;
  const done = await Promise.all(serials.map((serial) => renewRootList({ ...options, revoke: [serial] }, systemClock)));
  const entries = entriesOf(readCrl(crlFromFile(readFileSync(out))));
  t.deepEqual(entries.map(({ serial }) => serial).sort(), serials);
  t.is(new Set(done.map(({ number }) => number)).size, 3, 'each list has a number of its own');
  t.deepEqual(readdirSync(folder).sort(), ['root.crl.pem', 'root.key.pem', 'root.pem']);
});
