import { formatNumber, markdownTable } from '../measure/report.ts';
import { percentile } from '../measure/statistics.ts';
import { type EngineName, handCoded } from './engines/index.ts';
import type { PlanResult } from './measure-plan.ts';
import { kinds, layouts, type Mix, mixes } from './workload.ts';

const peers = ['CASL', 'casbin', 'Cedar'] as const satisfies readonly EngineName[];

/** Tables of all results: ours against each peer, and how flat ours is. */
export function decisionTables(results: readonly PlanResult[]): string {
  const ofKind = (kind: string, names: string): readonly PlanResult[] =>
    results.filter((result) => result.plan.kind === kind && result.names === names);
  const blocks = [
    'Each figure is the rate of ours divided by that of the peer: 2 means twice as many decisions a second of processor time.',
    "(a) refuses what it does not find. (a') is the same behind one comparison: whether the resource is of the domain, which ours has to tell.",
  ];
  for (const kind of kinds) {
    const rows = ofKind(kind, 'fresh');
    if (rows.length > 0) blocks.push(`### ${kind}`, ratioTable(rows));
  }
  const seen = ofKind('exact', 'seen');
  if (seen.length > 0) blocks.push('### exact, the same string objects again and again', ratioTable(seen));
  blocks.push(flatness(results));
  return blocks.join('\n\n');
}

function medianRate({ rates }: PlanResult, name: EngineName): number {
  const values = rates.get(name);
  return values === undefined || values.length === 0 ? Number.NaN : percentile(values, 0.5);
}

/** The rate of the best of these engines. */
function bestRate(result: PlanResult, engines: readonly EngineName[]): number {
  const rates = engines.map((engine) => medianRate(result, engine));
  return Math.max(...rates.map((rate) => (Number.isNaN(rate) ? 0 : rate)));
}

function ratioTable(results: readonly PlanResult[]): string {
  const head = [
    'layout',
    'assertions',
    'requests',
    '(a) hand-coded',
    "(a') with domain test",
    ...peers,
    'p50 ns',
    'p99 ns',
  ];
  const rows = results.map((result) => {
    const ours = medianRate(result, 'ours');
    const { layout, size } = result.plan;
    return [
      layout,
      size.toLocaleString('en-US'),
      result.mix,
      formatNumber(ours / bestRate(result, handCoded.bare)),
      formatNumber(ours / bestRate(result, handCoded.ofDomain)),
      ...peers.map((peer) => formatNumber(ours / medianRate(result, peer))),
      formatNumber(result.p50),
      formatNumber(result.p99),
    ];
  });
  return markdownTable(head, rows);
}

/** The cost at the largest size in units of the cost at the smallest, by layout, kind and mix. */
function flatness(results: readonly PlanResult[]): string {
  const rows: string[][] = [];
  for (const kind of kinds) {
    for (const layout of layouts) {
      const cells = mixes.map((mix) => growth(results, kind, layout, mix));
      if (cells.some((cell) => !Number.isNaN(cell))) rows.push([kind, layout, ...cells.map(formatNumber)]);
    }
  }
  const head = ['kind', 'layout', ...mixes];
  return `Cost of ours at the largest size in units of its cost at the smallest:\n\n${markdownTable(head, rows)}`;
}

function growth(results: readonly PlanResult[], kind: string, layout: string, mix: Mix): number {
  const rows = results
    .filter(({ plan, names }) => plan.kind === kind && plan.layout === layout && names === 'fresh')
    .filter((result) => result.mix === mix)
    .sort((a, b) => a.plan.size - b.plan.size);
  const [smallest] = rows;
  const largest = rows.at(-1);
  if (smallest === undefined || largest === undefined) return Number.NaN;
  return medianRate(smallest, 'ours') / medianRate(largest, 'ours');
}
