import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { internals } from '../limits/row.ts';

const { identityStamp } =
  await internals<typeof import('../../client/src/http/identity.ts')>('client/src/http/identity.ts');

test('files that were written again under the old time are other files', async (t) => {
  const folder = temporaryFolder(t);
  const source = {
    certificate: join(folder, 'cert.pem'),
    key: join(folder, 'key.pem'),
    caBundle: join(folder, 'ca.pem'),
  };
  for (const file of Object.values(source)) writeFileSync(file, 'old');
  const { atime, mtime } = statSync(source.certificate);
  utimesSync(source.certificate, atime, mtime);
  const before = await identityStamp(source);
  t.is(await identityStamp(source), before);
  // The time of the change of a file has steps of some milliseconds.
  await until('the stamp differs', async () => {
    writeFileSync(source.certificate, 'new');
    utimesSync(source.certificate, atime, mtime);
    return (await identityStamp(source)) !== before;
  });
});
