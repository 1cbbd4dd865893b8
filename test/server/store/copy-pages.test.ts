import { join } from 'node:path';
import { insertRows, readPages } from '@signet/server/store/copy/pages';
import type { Row } from '@signet/server/store/copy/table-shape';
import { openSqliteTarget } from '@signet/server/store/sqlite/copy-ends';
import { tableShapes } from '@signet/server/store/sqlite/table-shapes';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/** Audit records, `count` of them, each with a text of `characters`. */
function records(count: number, characters: number): Row[] {
  const text = 'x'.repeat(characters);
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    at: 1,
    actor: 'user.jane',
    action: 'change',
    subject: 'media',
    counter: 1,
    hash: '',
    after: text,
  }));
}

for (const [what, count, characters, sizes] of [
  ['pages grow up to 2,000 rows, and no row comes twice', 7101, 1, [100, 200, 400, 800, 1600, 2000, 2000, 1]],
  ['pages of large rows shrink', 151, 50_000, [80, 25, 46]],
  ['pages hold no more of large rows than fits', 11, 1_500_000, [2, 2, 2, 2, 2, 1]],
] as const) {
  test(what, async (t) => {
    const target = await openSqliteTarget(join(temporaryFolder(t), 'signet.db'));
    const audit = (await tableShapes()).find(({ name }) => name === 'audit');
    if (audit === undefined) return t.fail();
    const rows = records(count, characters);
    // Some of them are more parameters than a statement may have.
    await target.change((db) => insertRows(db, audit, rows));
    const pages = await target.snapshot((db) =>
      Array.fromAsync(readPages(db, audit), (page) => page.map(({ id }) => id)),
    );
    t.deepEqual(
      pages.map(({ length }) => length),
      [...sizes],
    );
    t.deepEqual(
      pages.flat(),
      rows.map(({ id }) => id ?? null),
    );
    await target.close();
  });
}

test('small rows before large ones do not make a page of these', async (t) => {
  const target = await openSqliteTarget(join(temporaryFolder(t), 'signet.db'));
  const audit = (await tableShapes()).find(({ name }) => name === 'audit');
  if (audit === undefined) return t.fail();
  const large = records(303, 3_000_000).slice(300);
  await target.change((db) => insertRows(db, audit, [...records(300, 1), ...large]));
  const pages = await target.snapshot((db) => Array.fromAsync(readPages(db, audit), (page) => page.length));
  t.deepEqual(pages, [100, 200, 1, 1, 1]);
  await target.close();
});
