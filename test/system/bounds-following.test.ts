import { parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import { noDiff, unchanged } from '@signet/server/model/domain-change';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { assertWithin, costOf, costsAreKnown, slowness } from '#support/cost';
import { operatorsDomain } from '#support/operators';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

/* Two processes of a real server follow another writer: each change costs what it changes, not the thousand domains that there are. */

const changes = 60;
const boundMs = 25;

test('a process follows a change in a store of 1,000 domains within 25 ms of processor time', async (t) => {
  t.timeout(120_000);
  if (!costsAreKnown) return t.pass('processor time is known on Linux only');
  const members = Array.from({ length: 20 }, (_, index) => `media.m${index}`);
  const installation = await install(t, {
    more: 'snapshot: { refreshIntervalMs: 100 }\n',
    domains: [
      { name: 'sys.auth', roles: { admin: ['sys.auth.operator'] }, services: { operator: {} } },
      {
        name: 'media',
        roles: { reader: [] },
        services: { player: {} },
        policies: { p: [['ALLOW', 'reader', 'read', 'film']] },
      },
      operatorsDomain,
      ...Array.from({ length: 997 }, (_, index) => ({
        name: `d${index}`,
        roles: { reader: members, writer: members },
        policies: { p: [['ALLOW', 'reader', 'read', 'film'] as const] },
      })),
    ],
  });
  const serving = await serve(t, installation);
  const player = serving.as(await installation.pki.identity('media.player'));
  const granted = async () =>
    (await player('/access/read?resource=media:film&principal=media.player')).text === '{"granted":true}';
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  const counterOf = async () => Number(/"counter":(\d+)/.exec((await operator('/readyz')).text)?.[1]);

  const store = await openSqliteStore(installation.storeFile);
  t.teardown(() => store.close());
  const put = (there: boolean) =>
    store.change({ actor: 'test' }, async (change) => {
      const stored = await change.attributes(parseDomainName('media'));
      if (stored === undefined) throw new Error('the domain is not there');
      const reader = { name: parseRoleName('reader') };
      const player = [{ name: 'media.player', disabled: false }];
      const members = { ...noDiff, ...(there ? { added: player } : { removed: player }) };
      await change.save({ ...unchanged(stored), roles: [{ before: reader, after: reader, members }] });
    });
  const follow = async (there: boolean) => {
    await put(there);
    const { counter } = await store.state();
    await until('the server follows', async () => (await counterOf()) >= counter);
  };
  for (let turn = 0; turn < 10; turn += 1) await follow(turn % 2 === 1);
  t.true(await granted());
  const before = costOf(serving.pid).processorMs;
  for (let turn = 0; turn < changes; turn += 1) await follow(turn % 2 === 1);
  const each = (costOf(serving.pid).processorMs - before) / changes;
  t.true(await granted());
  await follow(false);
  t.false(await granted(), 'and a member that leaves is gone');
  assertWithin(
    t,
    'processor time of following a change, with the questions whether it is there',
    each / slowness(),
    boundMs,
    'ms',
  );
});
