import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { percentile, ratioOf, spreadOf } from '../measure/statistics.ts';
import type { LoadGenerator } from '../token/load-generator.ts';
import type { Writer } from './writer-process.ts';

export const tokensPerSecond = 150;
const changesPerSecond = 10;

/** Short, and many of them: what else the machine does then spoils some rounds and not the median. */
const seconds = 2;

export interface Latencies {
  /** Changes a second that were made. */
  readonly changes: number;
  readonly table: string;
}

/** Rounds of tokens while nothing else happens, each followed by one with changes. */
export async function tokenLatencies(load: LoadGenerator, writer: Writer, rounds: number): Promise<Latencies> {
  const quiet: number[][] = [];
  const busy: number[][] = [];
  let changes = 0;
  const measure = async () => [...(await load.pace(tokensPerSecond * seconds, tokensPerSecond))];
  for (let round = 0; round < rounds; round += 1) {
    quiet.push(await measure());
    const during = await writer.during(changesPerSecond, measure);
    busy.push(during.result);
    changes += during.changes;
  }
  const row = (name: string, share: number) => {
    const [still, moved] = [quiet, busy].map((series) => series.map((values) => percentile(values, share)));
    const ratio = ratioOf(moved ?? [], still ?? []);
    const shown = [spreadOf(still ?? []), spreadOf(moved ?? []), ratio].map(formatSpread);
    return [name, ...shown, share === 0.99 ? verdict(ratio.median, 2, 'at most') : ''];
  };
  const rows = [row('p50, ms', 0.5), row('p99, ms', 0.99)];
  return {
    changes: changes / (rounds * seconds),
    table: markdownTable(['latency', 'quiet', 'while the store changes', 'ratio', 'aim'], rows),
  };
}
