import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exposition } from '@signet/server/metrics/readings';
import { createServerMetrics } from '@signet/server/metrics/server-metrics';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type ServersPlan, withServers } from '../measure/servers.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';
import { costTable } from '../token/cost-tables.ts';
import { createSignet } from '../token/signet.ts';

/** Aims: a token with metrics in units of one without, at most; and a scrape of `series`, in milliseconds of processor time. */
const aims = { token: 1.03, scrapeMs: 2, series: 200 };

/** Cost of metrics: a token of the real server with and without them in turn, and a scrape. */
export async function metricsPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const configured = { 'without metrics': '', 'with metrics': 'metrics: { listen: { port: 0 } }\n' };
  const contenders = await Promise.all(
    Object.entries(configured).map(([name, more]) => {
      const own = join(folder, name.replace(' ', '-'));
      mkdirSync(own);
      return createSignet(own, more, name);
    }),
  );
  const plan: ServersPlan = { contenders, folder, target: async (contender, { baseUrl }) => contender.token(baseUrl) };
  const cpu = await withServers(plan, [], (running) =>
    cpuRounds(
      running,
      quick ? { warmUp: 3000, rounds: 9, requests: 1000 } : { warmUp: 8000, rounds: 21, requests: 1500 },
    ),
  );
  const instructions = counter && (await countInstructions(plan, counter, { warmUp: 4000, rounds: 5, requests: 500 }));
  const scrapes = { text: await scrape('text', quick), openmetrics: await scrape('openmetrics', quick) };
  const rows = Object.entries(scrapes).map(([format, { series, cost }]) => [
    `${series} series, ${format}`,
    formatSpread(cost),
    verdict(cost.median, aims.scrapeMs, 'at most'),
  ]);
  const markdown = [
    '## Metrics',
    costTable([{ id: 'without', peer: 'without metrics', aim: aims.token }], 'with metrics', { cpu, instructions }),
    markdownTable(['a scrape of', 'ms of processor time', 'aim'], rows),
  ].join('\n\n');
  return { markdown, figures: [] };
}

/** Scrapes the number of server series in the aim, beside those of the process. */
async function scrape(format: 'text' | 'openmetrics', quick: boolean): Promise<{ series: number; cost: Spread }> {
  const { observer, read } = createServerMetrics();
  for (let route = 0; route < 3; route += 1) observer.answered(`/v1/route/${route}`, 'GET', 200, 0.001);
  const count = async () =>
    (await exposition([await read()], format)).text.split('\n').filter((line) => /^[^#]/.test(line)).length;
  for (let route = 3; (await count()) < aims.series; route += 1)
    observer.answered(`/v1/route/${route}`, 'GET', 200, 0.001);
  const series = await count();
  const costs: number[] = [];
  const scrapes = quick ? 100 : 500;
  for (let round = -3; round < 15; round += 1) {
    const before = process.threadCpuUsage();
    for (let done = 0; done < scrapes; done += 1) await exposition([await read()], format);
    const { user, system } = process.threadCpuUsage(before);
    if (round >= 0) costs.push((user + system) / 1000 / scrapes);
  }
  return { series, cost: spreadOf(costs) };
}
