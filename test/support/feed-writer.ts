import { systemClock } from '@signet/policy-engine/clock';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { randomFrom } from './random.ts';
import { randomChanges, tryChange } from './random-changes.ts';

/* A process that changes a store beside others: `node feed-writer.ts FILE FOLDER SEED COUNT`; begins when it is told to. */

const [, script, file = '', folder = '', seed = '', count = ''] = process.argv;

async function write(): Promise<void> {
  const store = await openSqliteStore(file);
  const live = await openLiveSnapshot({ store, clock: systemClock, refreshIntervalMs: 3_600_000 });
  const random = randomFrom(Number(seed));
  const world = { store, live, clock: systemClock, random, folder };
  const names = [...randomChanges.keys()];
  process.once('message', async () => {
    for (let turn = 0; turn < Number(count); turn += 1) await tryChange(world, names[random(names.length)] ?? '');
    await live.close();
    await store.close();
    process.send?.('done');
    process.disconnect();
  });
  process.send?.('ready');
}

if (script === import.meta.filename) await write();
