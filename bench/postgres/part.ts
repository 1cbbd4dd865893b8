import type { PartContext, PartReport } from '../measure/figure.ts';
import { noPostgres, startPostgres } from '../measure/postgres.ts';
import { idleBlock } from './idle.ts';
import { largeStoreBlock } from './large-store.ts';
import { liveBlock } from './live.ts';
import { createPair } from './pair.ts';
import { refreshBlock } from './refresh.ts';
import { requestsBlock } from './requests.ts';
import { throughputBlock } from './throughput.ts';

/** Cost of a server on PostgreSQL beside the same one on SQLite. */
export async function postgresPart({ folder, quick }: PartContext): Promise<PartReport> {
  const database = await startPostgres();
  if (database === undefined) return { markdown: `## PostgreSQL\n\n${noPostgres}`, figures: [] };
  try {
    const small = await createPair(database, folder, 0.01);
    const blocks = [
      '## PostgreSQL',
      `PostgreSQL ${database.version} on the same machine, over a socket, with its usual settings.`,
      await requestsBlock(small, folder, quick),
      await refreshBlock(database, small, folder, quick),
      await idleBlock(database, small, folder, quick),
      await liveBlock(small, folder, quick),
      await throughputBlock(small, quick),
      await largeStoreBlock(await createPair(database, folder, quick ? 0.1 : 1), folder, quick),
    ];
    return { markdown: blocks.join('\n\n'), figures: [] };
  } finally {
    await database.stop();
  }
}
