import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

test('a page of the audit log is bounded by what its records hold, and has one record at the least', async (t) => {
  const store = await openSqliteStore(`${temporaryFolder(t)}/signet.db`);
  t.teardown(() => store.close());
  const members = Array.from({ length: 30_000 }, (_, index) => `user.member${index}`);
  for (const name of ['a', 'b', 'c', 'd']) {
    await store.change({ actor: 'test' }, (change) =>
      saveDomain(change, domainContent({ name, roles: { crowd: name === 'd' ? [] : members } })),
    );
  }
  // Each of the large ones is more than a page by itself.
  const pages: string[][] = [];
  for (let before: number | undefined; ; ) {
    const { records, next } = await store.auditPage({ limit: 10, ...(before !== undefined && { before }) });
    pages.push(records.map(({ subject }) => subject));
    before = next;
    if (next === undefined) break;
  }
  t.deepEqual(pages, [['d'], ['c'], ['b'], ['a']]);
  const small = await store.auditPage({ limit: 1 });
  t.deepEqual([small.records.length, small.next], [1, small.records[0]?.id]);
});
