import { join } from 'node:path';
import { revokeRows } from '@signet/server/store/certificate-rows';
import { migrate } from '@signet/server/store/sqlite/migrate';
import { SqliteQueries } from '@signet/server/store/sqlite/sqlite-queries';
import test from 'ava';
import Database from 'better-sqlite3';
import { temporaryFolder } from '#support/temp';

const life = { issuer: 'i', state: 'issued', subject: 's', intended_at: 1, not_before: 1, not_after: 1000 };
const revocation = { reason: 'cessation-of-operation', at: 10, by: 'media.boss' } as const;

test('those that revoked certificates asked for are found without a search for each', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const queries = new SqliteQueries(new Database(file), 'changes');
  t.teardown(() => queries.close());
  await migrate(queries);
  const { db } = queries;
  const certificate = (serial: string, asking?: string) => ({
    ...life,
    serial,
    kind: asking === undefined ? 'instance' : 'ssh-host',
    holder: 'media.player',
    asking_serial: asking ?? null,
  });
  const rows = [certificate('a'), certificate('b'), certificate('a1', 'a'), certificate('b1', 'b'), certificate('c')];
  await db.insertInto('certificates').values(rows).execute();
  let searches = 0;
  const serials = ['a', 'b', 'b1'];
  const counted = Object.assign([...serials], {
    includes: (serial: string) => {
      searches += 1;
      return serials.indexOf(serial) >= 0;
    },
  });
  t.deepEqual(await revokeRows(db, counted, revocation), ['a1']);
  t.is(searches, 0);
  const revoked = await db.selectFrom('certificates').select('serial').where('revoked_at', '=', 10).execute();
  t.deepEqual(revoked.map(({ serial }) => serial).sort(), ['a', 'a1', 'b', 'b1']);
});
