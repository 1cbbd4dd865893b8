import type { StorePlace } from '@signet/server/config/store-place';
import { formatSpread, markdownTable } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import { startWriter } from '../sizes/writer-process.ts';
import { kinds, type Pair } from './pair.ts';

const width = 16;

/** Changes a second of one and more processes on one store, each with its snapshot. */
export async function throughputBlock({ sqlite, postgres }: Pair, quick: boolean): Promise<string> {
  const rows: string[][] = [];
  for (const count of [1, 2, 4]) {
    rows.push([
      String(count),
      formatSpread(spreadOf(await changesPerSecond(sqlite.place, count, quick))),
      formatSpread(spreadOf(await changesPerSecond(postgres.place, count, quick))),
    ]);
  }
  return [
    '### Changes a second',
    `Processes that change one store at the same time, ${width} changes of each under way at once in as many domains, through the rules of the management API and with the snapshot of each process; elapsed time.`,
    markdownTable(
      ['processes', `${kinds.sqlite}, changes a second of all`, `${kinds.postgres}, changes a second of all`],
      rows,
    ),
  ].join('\n\n');
}

async function changesPerSecond(place: StorePlace, count: number, quick: boolean): Promise<number[]> {
  const writers = await Promise.all(Array.from({ length: count }, () => startWriter(place, 'anywhere')));
  const [rounds, changes] = quick ? [3, 160] : [7, 480];
  const rates: number[] = [];
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const start = performance.now();
      await Promise.all(writers.map((writer) => writer.burst(changes, width)));
      if (round > 0) rates.push((count * changes * 1000) / (performance.now() - start)); // the first round warms up
    }
  } finally {
    for (const writer of writers) writer.close();
  }
  return rates;
}
