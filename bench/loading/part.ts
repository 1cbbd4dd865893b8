import { kinds, layouts, type WorkloadPlan } from '../decisions/workload.ts';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { oneAnswer } from '../measure/one-answer.ts';
import { formatNumber, formatSpread, markdownTable } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import type { MemoryOrder } from './memory-worker.ts';
import type { LoadingResult } from './worker.ts';

const loadScript = new URL('./worker.ts', import.meta.url);
const memoryScript = new URL('./memory-worker.ts', import.meta.url);

/** What a new bundle costs a running service, and what the policies of an engine weigh. */
export async function loadingPart({ quick }: PartContext): Promise<PartReport> {
  const rows: string[][] = [];
  for (const megabytes of [1, 10]) {
    const results: LoadingResult[] = [];
    for (let round = 0; round < (quick ? 3 : 7); round++)
      results.push(asResult(await oneAnswer(loadScript, { megabytes })));
    rows.push(loadingRow(megabytes, results));
  }
  const head = [
    'bundle',
    'assertions',
    'processor time, ms',
    'in units of JSON.parse alone',
    'longest stall, ms',
    'longest stall / JSON.parse alone',
  ];
  const memory = await memoryRows();
  const markdown = [
    '## Loading and swapping a bundle',
    'Verified, parsed, indexed and put in force in a running process.',
    markdownTable(head, rows),
    '## Memory',
    markdownTable(['kind', 'layout', 'KiB of heap for 10,000 assertions', 'in units of the hand-coded map'], memory),
  ].join('\n\n');
  return { markdown, figures: [] };
}

function loadingRow(megabytes: number, results: readonly LoadingResult[]): string[] {
  const of = (pick: (result: LoadingResult) => number): string => formatSpread(spreadOf(results.map(pick)));
  return [
    `${megabytes} MB of payload`,
    formatNumber(results[0]?.assertions ?? Number.NaN),
    of(({ loadCpuMs }) => loadCpuMs),
    of(({ loadCpuMs, parseCpuMs }) => loadCpuMs / parseCpuMs),
    of(({ longestStallMs }) => longestStallMs),
    of(({ longestStallMs, parseCpuMs }) => longestStallMs / parseCpuMs),
  ];
}

async function memoryRows(): Promise<string[][]> {
  const rows: string[][] = [];
  for (const kind of kinds) {
    for (const layout of layouts) {
      const plan: WorkloadPlan = { size: 10_000, kind, layout };
      const ours = await heapOf({ plan, engine: 'ours' });
      const map = kind === 'exact' ? await heapOf({ plan, engine: 'hand-coded map' }) : Number.NaN;
      rows.push([kind, layout, formatNumber(ours / 1024), formatNumber(ours / map)]);
    }
  }
  return rows;
}

async function heapOf(order: MemoryOrder): Promise<number> {
  return Number(await oneAnswer(memoryScript, order, ['--expose-gc']));
}

function asResult(value: unknown): LoadingResult {
  if (typeof value !== 'object' || value === null || !isResult(value)) throw new Error('no result of a load');
  return value;
}

function isResult(value: object): value is LoadingResult {
  return 'loadCpuMs' in value && 'parseCpuMs' in value && 'longestStallMs' in value;
}
