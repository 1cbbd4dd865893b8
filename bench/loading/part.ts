import { kinds, layouts, type WorkloadPlan } from '../decisions/workload.ts';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import type { InstructionCounter } from '../measure/instructions.ts';
import { oneAnswer } from '../measure/one-answer.ts';
import type { OwnCost } from '../measure/own-cpu.ts';
import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, ratioToMedian, type Spread, spreadOf } from '../measure/statistics.ts';
import type { MemoryOrder } from './memory-worker.ts';
import type { SigningOrder } from './signing-worker.ts';
import type { LoadingOrder } from './worker.ts';

const loadScript = new URL('./worker.ts', import.meta.url);
const signingScript = new URL('./signing-worker.ts', import.meta.url);
const memoryScript = new URL('./memory-worker.ts', import.meta.url);

/** The process may collect its garbage when it wants to. */
const collecting = { flags: ['--expose-gc'] } as const;

/** In each round all are measured, one after the other. */
interface Rounds {
  readonly load: number[];
  readonly again: number[];
  readonly least: number[];
  readonly turn: number[];
  readonly sign: OwnCost[];
}

/** Cost of a new bundle to a running service and to the server that signs it, and size of an engine's policies. */
export async function loadingPart({ quick, counter }: PartContext): Promise<PartReport> {
  const figures: Figure[] = [];
  for (const megabytes of [1, 10]) {
    const rounds: Rounds = { load: [], again: [], least: [], turn: [], sign: [] };
    for (let round = 0; round < (quick ? 3 : 9); round++) await measureRound(megabytes, rounds);
    figures.push(...figuresOf(megabytes, rounds));
  }
  if (counter !== undefined) figures.push(...(await countedFigures(10, counter)));
  const rows = figures.map(({ title, unit, value, aim }) => [
    title,
    `${formatSpread(value)} ${unit}`,
    aim === undefined ? '–' : verdict(value.median, aim.value, aim.kind),
  ]);
  const markdown = [
    '## Loading, swapping and signing a bundle',
    'Verified, parsed, indexed and put in force in a running process; signed by the publisher of a server.',
    markdownTable(['figure', 'median (least–greatest)', 'aim'], rows),
    '## Memory',
    markdownTable(
      ['kind', 'layout', 'KiB of heap for 10,000 assertions', 'in units of the hand-coded map'],
      await memoryRows(),
    ),
  ].join('\n\n');
  return { markdown, figures };
}

async function measureRound(megabytes: number, rounds: Rounds): Promise<void> {
  for (const what of ['load', 'again', 'least', 'turn'] as const) {
    const order: LoadingOrder = { megabytes, what };
    rounds[what].push(Number(await oneAnswer(loadScript, order)));
  }
  rounds.sign.push(asCost(await oneAnswer(signingScript, { megabytes }, collecting)));
}

/** The same in instructions, each in a process of its own. */
async function countedFigures(megabytes: number, { folder, wrapper }: InstructionCounter): Promise<Figure[]> {
  const counts = { load: [] as number[], again: [] as number[], least: [] as number[], sign: [] as number[] };
  for (let round = 0; round < 3; round++) {
    for (const what of ['load', 'again', 'least'] as const) {
      const order: LoadingOrder = { megabytes, what, countIn: folder };
      counts[what].push(Number(await oneAnswer(loadScript, order, { wrapper })));
    }
    const order: SigningOrder = { megabytes, countIn: folder };
    counts.sign.push(Number(await oneAnswer(signingScript, order, { ...collecting, wrapper })));
  }
  const figure = (name: 'load' | 'again' | 'sign', title: string): Figure => ({
    id: `loading/${megabytes}mb/${name}/instructions`,
    title: `${title} ÷ SHA-256 and JSON.parse, instructions, payload of ${megabytes} MB`,
    unit: '',
    value: ratioToMedian(counts[name], counts.least),
  });
  return [figure('load', 'a load'), figure('again', 'a load after others'), figure('sign', 'a signature')];
}

function figuresOf(megabytes: number, { load, again, least, turn, sign }: Rounds): Figure[] {
  const signCpu = spreadOf(sign.map(({ cpuMs }) => cpuMs));
  const signTurn = spreadOf(sign.map(({ longestTurnMs }) => longestTurnMs));
  const aim = (value: number): Pick<Figure, 'aim'> => (megabytes === 10 ? { aim: { kind: 'at most', value } } : {});
  const figure = (name: string, title: string, unit: string, value: Spread): Figure => ({
    id: `loading/${megabytes}mb/${name}`,
    title: `${title}, payload of ${megabytes} MB`,
    unit,
    value,
  });
  return [
    figure('load/cpu', 'a load, processor time', 'ms', spreadOf(load)),
    { ...figure('load/ratio', 'a load ÷ SHA-256 and JSON.parse', '', ratioOf(load, least)), ...aim(8) },
    { ...figure('again/ratio', 'a load after others ÷ SHA-256 and JSON.parse', '', ratioOf(again, least)), ...aim(3) },
    { ...figure('load/turn', 'a load, longest turn of the event loop', 'ms', spreadOf(turn)), ...aim(10) },
    { ...figure('sign/cpu', 'a signature, processor time', 'ms', signCpu), ...aim(120) },
    { ...figure('sign/turn', 'a signature, longest turn of the event loop', 'ms', signTurn), ...aim(10) },
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
  return Number(await oneAnswer(memoryScript, order, collecting));
}

function asCost(value: unknown): OwnCost {
  if (typeof value !== 'object' || value === null || !isCost(value)) throw new Error('no result');
  return value;
}

function isCost(value: object): value is OwnCost {
  return 'cpuMs' in value && 'longestTurnMs' in value;
}
