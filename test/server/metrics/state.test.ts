import { join } from 'node:path';
import { stateOfServer } from '@signet/server/compose/compose-metrics';
import { StoreUnavailableError } from '@signet/server/errors';
import { exposition } from '@signet/server/metrics/readings';
import { createServerMetrics } from '@signet/server/metrics/server-metrics';
import type { SnapshotSource } from '@signet/server/model/store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { seriesIn } from '#support/scrape';
import { temporaryFolder } from '#support/temp';

test('signet_store_up follows the store down and up, and the age of the snapshot grows meanwhile', async (t) => {
  const clock = new FakeClock();
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
  let isGone = false;
  const source: SnapshotSource = {
    state: () => (isGone ? Promise.reject(new StoreUnavailableError('gone')) : store.state()),
    changesSince: (known, knows) => store.changesSince(known, knows),
    everything: (work) => store.everything(work),
  };
  const { observer, follow, read } = createServerMetrics();
  const live = await openLiveSnapshot({
    store: source,
    clock,
    refreshIntervalMs: 3_600_000,
    onRefresh: observer.snapshotRefreshed,
  });
  t.teardown(async () => {
    await live.close();
    await store.close();
  });
  follow(() =>
    stateOfServer({
      ...{ store, live, clock },
      storeWatch: { clock: () => ({ state: 'fit' }) },
      callerClocks: { disagree: () => false },
      http: { certificateExpiry: () => clock.now() + 60_000, readiness: () => 'ready' },
    }),
  );
  const scrape = async () => {
    const series = seriesIn((await exposition([await read()], 'text')).text);
    const names = [
      'signet_store_up',
      'signet_store_writable',
      'signet_snapshot_age_seconds',
      'signet_snapshot_refresh_failures_total',
    ];
    return names.map((name) => series.get(name));
  };
  t.deepEqual(await scrape(), [1, 1, 0, 0]);
  isGone = true;
  clock.advance(5000);
  await t.throwsAsync(live.refresh());
  t.deepEqual(await scrape(), [0, 0, 5, 1]);
  isGone = false;
  clock.advance(5000);
  await live.refresh();
  t.deepEqual(await scrape(), [1, 1, 0, 1]);
});

test('connections of a pool, divergence, and what is not there has no series', async (t) => {
  const { follow, read } = createServerMetrics();
  let unready: 'clock' | undefined = 'clock';
  let connections: { idle: number; busy: number; waiting: number } | undefined = { idle: 1, busy: 2, waiting: 3 };
  follow(() => ({
    now: 10_000,
    unready,
    clockDoubtedBy: unready === undefined ? [] : ['database', 'callers'],
    aheadOfDatabaseMs: unready && 90_000,
    snapshot: { counter: 7, refreshedAt: 11_000, domains: 2 },
    store: { isUp: true, isWritable: false, isDiverged: true },
    connections,
    keys: [{ purpose: 'token', activeSince: 4000 }],
    certificates: [{ which: 'crl', notAfter: 20_000 }],
  }));
  const scrape = async () => {
    const series = seriesIn((await exposition([await read()], 'text')).text);
    const shown = /^signet_(ready|clock|store_(diverged|writable|pool)|key|certificate_expiry|snapshot_age)/;
    return Object.fromEntries([...series].filter(([name]) => shown.test(name)));
  };
  const rest = {
    'signet_ready{reason="stopping"}': 1,
    'signet_ready{reason="no-signing-key"}': 1,
    'signet_ready{reason="certificate-expired"}': 1,
    signet_snapshot_age_seconds: 0,
    signet_store_writable: 0,
    signet_store_diverged: 1,
    'signet_key_active_age_seconds{purpose="token"}': 6,
    'signet_certificate_expiry_timestamp_seconds{which="crl"}': 20,
  };
  t.deepEqual(await scrape(), {
    ...rest,
    ...clockSeries(1),
    'signet_clock_ahead_seconds{by="database"}': 90,
    'signet_store_pool_connections{state="idle"}': 1,
    'signet_store_pool_connections{state="busy"}': 2,
    'signet_store_pool_connections{state="waiting"}': 3,
  });
  connections = undefined;
  unready = undefined;
  t.deepEqual(await scrape(), { ...rest, ...clockSeries(0) });
});

function clockSeries(isWrong: 0 | 1) {
  return {
    'signet_ready{reason="clock"}': 1 - isWrong,
    'signet_clock_doubted{by="database"}': isWrong,
    'signet_clock_doubted{by="records"}': 0,
    'signet_clock_doubted{by="peers"}': 0,
    'signet_clock_doubted{by="callers"}': isWrong,
  };
}
