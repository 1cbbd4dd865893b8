import { join } from 'node:path';
import { parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { explainAccess } from '@signet/server/access/explain-access';
import { listGrantees } from '@signet/server/access/list-grantees';
import { snapshotIn } from '@signet/server/cli/read-snapshot';
import { UnknownDomainError } from '@signet/server/errors';
import { describeReasons } from '@signet/server/management/describe-explanation';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* Agreement of `signet access explain` and `who` on a store with the answers of its server. */

const now = 1_700_000_000_000;
const read = parseActionName('read');
const absent = ['media.ghost', 'media.gone', 'nowhere.any', 'asleep.any', 'media.off', 'catalog.ghost'];

test('services that do not exist hold nothing, whether a role names them, a wildcard covers them or they are asked about', async (t) => {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const sketches = [
    {
      name: 'catalog',
      roles: { reader: ['media.player', 'media.ghost', 'nowhere.any', 'media:group.crew', '*'] },
      services: { api: {} },
      policies: { films: [['ALLOW', 'reader', 'read', 'film']] },
    },
    { name: 'media', services: { player: {}, off: false }, groups: { crew: ['media.gone', 'user.jane'] } },
    { name: 'asleep', enabled: false, services: { any: {} } },
  ] as const;
  await store.change({ actor: 'a' }, async (transaction) => {
    for (const sketch of sketches) await saveDomain(transaction, domainContent(sketch));
  });
  const catalog = parseDomainName('catalog');
  const explained = async (name: string, resource = 'catalog:film') => {
    const principal = parsePrincipalName(name);
    return explainAccess(await snapshotIn(store, [catalog], [principal]), { principal, action: read, resource }, now);
  };
  for (const name of absent) {
    const { granted, switchedOff, ...rest } = await explained(name);
    t.deepEqual([granted, switchedOff], [false, true], name);
    t.is(
      describeReasons({ granted, switchedOff, ...rest })[0],
      `${name} does not exist, or it or its domain is disabled: it holds no role`,
    );
  }
  for (const name of ['media.player', 'catalog.api', 'user.jane', 'user.anybody']) {
    t.like(await explained(name), { granted: true, switchedOff: false }, name);
  }
  const holders = listGrantees(await snapshotIn(store, [catalog]), { action: read, resource: 'catalog:film' }, now);
  t.deepEqual(
    holders.map(({ principal }) => principal),
    ['media.player', 'user.jane', '*'],
  );
  await t.throwsAsync(explained('nowhere.any', 'nowhere:film'), { instanceOf: UnknownDomainError });
});
