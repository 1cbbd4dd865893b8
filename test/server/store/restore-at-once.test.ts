import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '@signet/policy-engine/internal/files';
import { ConflictError } from '@signet/server/errors';
import { backUp, restore } from '@signet/server/store/backups';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

test('while one restore is at work another one is refused, and leaves its files alone', async (t) => {
  const clock = new FakeClock();
  const sealKey = Buffer.alloc(32, 7);
  const [dataDir, elsewhere] = [temporaryFolder(t), temporaryFolder(t)];
  const [file, backup] = [join(elsewhere, 'signet.db'), join(elsewhere, 'backup')];
  const lost = await openSqliteStore(file, { clock });
  await lost.change({ actor: 'local:jane' }, (change) => saveDomain(change, domainContent('media', {})));
  await lost.close();
  await backUp({ kind: 'sqlite', file }, backup, sealKey);
  const place = { kind: 'sqlite', file: join(dataDir, 'signet.db') } as const;
  const begin = () => restore(place, backup, { clock, context: { actor: 'local:jane' }, proof: { sealKey }, dataDir });

  const first = await lockFile(join(dataDir, '.restore.lock'), { waitMs: 0 });
  await t.throwsAsync(begin(), {
    instanceOf: ConflictError,
    message: `another restore is running in \`${dataDir}\`: wait until it has finished`,
  });
  t.deepEqual(readdirSync(dataDir), ['.restore.lock']);
  await first?.[Symbol.asyncDispose]();
  await begin();
  t.deepEqual(readdirSync(dataDir).sort(), ['signet.db', 'signet.db.witness']);
});
