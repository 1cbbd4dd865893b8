import type { PartContext, PartReport } from '../measure/figure.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { formatNumber, markdownTable, verdict } from '../measure/report.ts';
import { percentile } from '../measure/statistics.ts';
import { startLoad } from '../token/load-generator.ts';
import { changeCosts, costsTable } from './change-costs.ts';
import { startServer } from './cold-start.ts';
import { measureStarts } from './starts.ts';
import { createHome, type FilledHome, sizesOf } from './stores.ts';
import { timesToLive } from './time-to-live.ts';
import { tokenLatencies, tokensPerSecond } from './token-latencies.ts';
import { startWriter, type Writer } from './writer-process.ts';

const refreshIntervalMs = 250;
const liveAimMs = 100;

/** Cost of a large store: starting, memory, changes, and tokens meanwhile. */
export async function sizesPart({ folder, quick }: PartContext): Promise<PartReport> {
  const packed = packServer(folder);
  const homes: FilledHome[] = [];
  for (const size of sizesOf(quick)) {
    const home = await createHome(folder, size, { refreshIntervalMs });
    homes.push({ ...home, server: asPacked(home.server, packed, home.server.name) });
  }
  const largest = homes.at(-1);
  if (largest === undefined) throw new Error('there is no size');
  const writers = await Promise.all(homes.map(({ place }) => startWriter(place)));
  try {
    const costs = await changeCosts(writers, quick);
    const writer = writers.at(-1);
    if (writer === undefined) throw new Error('there is no writer');
    const starts = await measureStarts(homes, folder, quick);
    const live = await liveBlocks(largest, writer, folder, quick);
    const markdown = [
      '## Sizes',
      'Domains of ten roles, one of them in a single domain a fifth of all members; one service with a key and twenty rules a domain. The server is installed from its package.',
      starts.markdown,
      '### The cost of a change',
      'Processor time of one change through the rules of the management API, from its reading to the snapshot that follows it, µs.',
      costsTable(homes, costs),
      live.markdown,
    ].join('\n\n');
    return { markdown, figures: [...starts.figures, ...live.figures] };
  } finally {
    for (const writer of writers) writer.close();
  }
}

async function liveBlocks(home: FilledHome, writer: Writer, folder: string, quick: boolean): Promise<PartReport> {
  const program = await startServer(home, folder);
  const target = home.server.token(program.baseUrl);
  const load = await startLoad(target);
  try {
    await load.send(2000);
    const samples = quick ? 40 : 150;
    const plan = { place: home.place, baseUrl: program.baseUrl, caller: target, refreshIntervalMs, samples };
    const kinds = [
      { id: 'small', name: 'a member of a role of ten', times: await timesToLive(plan, 1) },
      { id: 'large', name: 'a member of the largest role', times: await timesToLive(plan, 0) },
    ].map(({ times, ...kind }) => ({ ...kind, median: percentile(times, 0.5), late: percentile(times, 0.99) }));
    const rows = kinds.map(({ name, median, late }) => [
      name,
      formatNumber(median),
      formatNumber(late),
      verdict(late, liveAimMs, 'at most'),
    ]);
    const latencies = await tokenLatencies(load, writer, quick ? 5 : 35);
    const markdown = [
      '### From commit to live in another process',
      `${samples} commits of each kind, at moments spread over the server's refresh interval of ${refreshIntervalMs} ms; the server is asked until it answers by the change.`,
      markdownTable(['change', 'p50, ms', 'p99, ms', 'aim'], rows),
      '### Tokens while the store changes',
      `${tokensPerSecond} tokens a second at a steady pace from one process, ${formatNumber(latencies.changes)} changes a second of every kind above from another, each seen by the server when it is told of it.`,
      latencies.table,
    ];
    const figures = kinds.map(({ id, name, median, late }) => ({
      id: `sizes/live/${id}`,
      title: `${name} live in another process, p99`,
      unit: 'ms',
      value: { median: late, low: median, high: late },
      aim: { kind: 'at most' as const, value: liveAimMs },
    }));
    return { markdown: markdown.join('\n\n'), figures };
  } finally {
    load.close();
    await program.stop();
  }
}
