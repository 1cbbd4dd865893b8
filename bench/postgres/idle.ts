import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../measure/postgres.ts';
import { formatNumber, markdownTable, verdict } from '../measure/report.ts';
import { startServer } from '../sizes/cold-start.ts';
import { type Pair, refreshIntervalMs } from './pair.ts';

/** Database queries of an idle server. */
export async function idleBlock(
  database: PostgresServer,
  { postgres }: Pair,
  folder: string,
  quick: boolean,
): Promise<string> {
  const program = await startServer(postgres, folder);
  const intervals = quick ? 40 : 200;
  try {
    await delay(8 * refreshIntervalMs);
    database.query('postgres', 'select pg_stat_statements_reset()');
    const start = performance.now();
    await delay(intervals * refreshIntervalMs);
    const passed = (performance.now() - start) / refreshIntervalMs;
    const rows = database.query(
      'postgres',
      `select calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 120) from pg_stat_statements s
        join pg_database d on d.oid = s.dbid where datname = '${postgres.place.database}' order by calls desc`,
    );
    const perInterval = rows.reduce((sum, [calls]) => sum + Number(calls), 0) / passed;
    return [
      '### Statements of an idle server',
      `Over ${intervals} refresh intervals of ${refreshIntervalMs} ms, for one process: ${formatNumber(perInterval)} an interval, ${verdict(Number(perInterval.toFixed(2)), 1, 'at most')}.`,
      markdownTable(
        ['times', 'statement'],
        rows.map(([calls = '', text = '']) => [calls, `\`${text}\``]),
      ),
    ].join('\n\n');
  } finally {
    await program.stop();
  }
}
