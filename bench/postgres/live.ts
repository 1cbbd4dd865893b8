import { readFileSync, writeFileSync } from 'node:fs';
import { formatNumber, markdownTable, verdict } from '../measure/report.ts';
import { percentile } from '../measure/statistics.ts';
import { startServer } from '../sizes/cold-start.ts';
import { timesToLive } from '../sizes/time-to-live.ts';
import { type Pair, refreshIntervalMs } from './pair.ts';

/** From the commit of a change in one process until a server in another one answers by it. */
export async function liveBlock({ postgres }: Pair, folder: string, quick: boolean): Promise<string> {
  const rows: string[][] = [];
  for (const listen of [true, false]) {
    const times = await timesWith(postgres, listen, folder, quick ? 60 : 300);
    const [median, late] = [percentile(times, 0.5), percentile(times, 0.99)];
    rows.push([
      listen ? 'with `listen`' : 'without',
      formatNumber(median),
      formatNumber(late),
      verdict(late, listen ? 100 : refreshIntervalMs + 50, 'at most'),
    ]);
  }
  return [
    '### A change live on another server',
    `From the commit until the other server answers by it, at a refresh interval of ${refreshIntervalMs} ms.`,
    markdownTable(['', 'p50, ms', 'p99, ms', 'aim for p99, ms'], rows),
  ].join('\n\n');
}

async function timesWith(
  home: Pair['postgres'],
  listen: boolean,
  folder: string,
  samples: number,
): Promise<readonly number[]> {
  const config = home.server.args[home.server.args.indexOf('--config') + 1] ?? '';
  const before = readFileSync(config, 'utf8');
  writeFileSync(config, before.replace('"listen":true', `"listen":${listen}`));
  const program = await startServer(home, folder);
  try {
    const caller = home.server.token(program.baseUrl);
    const plan = { place: { ...home.place, listen }, baseUrl: program.baseUrl, caller, refreshIntervalMs, samples };
    return await timesToLive(plan, listen ? 2 : 3);
  } finally {
    await program.stop();
    writeFileSync(config, before);
  }
}
