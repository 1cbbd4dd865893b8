import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { heldMemory, inMegabytes, processTree, treeResident } from '../measure/process-tree.ts';
import { type Program, startProgram } from '../measure/program.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import { type Contender, createPeers, peerNames } from '../token/contenders.ts';
import { startLoad } from '../token/load-generator.ts';
import { createSignet } from '../token/signet.ts';
import { updaterResidents } from './updater.ts';

const serverProcessor = 1;
const tokens = 10_000;
/** Delay after which work after the start is done. */
const settleMs = 5000;

const [ours, pair] = ['ours', 'ours, `--workers 2`'];

/** Memory of one server in one round, in mebibytes. */
interface Held {
  readonly idle: number;
  readonly loaded: number;
  readonly processes: number;
  /** Memory of the process that was started last. */
  readonly last: number;
}

/** Memory of a server with a small store: all its processes, idle and after ten thousand tokens. */
export async function memoryPart({ folder, quick }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = await createSignet(folder);
  const peers = (await createPeers(folder)).filter(({ name }) => name !== peerNames.oidc);
  const contenders = [...peers, asPacked(signet, program, ours), asPacked(signet, program, pair, '--workers', '2')];
  const held = new Map<string, Held[]>(contenders.map(({ name }) => [name, []]));
  const rounds = quick ? 1 : 5;
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) held.get(contender.name)?.push(await measure(contender, folder));
  }
  const updater = spreadOf(await updaterResidents(folder, asPacked(signet, program, ours), { rounds, settleMs }));
  const of = (name: string, pick: (one: Held) => number) => spreadOf((held.get(name) ?? []).map(pick));
  const rows = contenders.map(({ name }) => [
    name,
    String(held.get(name)?.[0]?.processes ?? ''),
    formatSpread(of(name, (one) => one.idle)),
    formatSpread(of(name, (one) => one.loaded)),
  ]);
  const figures = [
    figure(
      'idle',
      'resident memory of a server that has done nothing',
      of(ours, (one) => one.idle),
      100,
    ),
    figure(
      'loaded',
      'resident memory of a server after 10,000 tokens',
      of(ours, (one) => one.loaded),
      130,
    ),
    figure(
      'second-worker',
      'memory that a second worker alone holds, after 10,000 tokens',
      of(pair, (one) => one.last),
      90,
    ),
    figure('updater', 'resident memory of an updater that has fetched a small bundle', updater, 90),
  ];
  return {
    markdown: [
      title,
      markdownTable(head, [...rows, ['the updater', '1', formatSpread(updater), '']]),
      verdicts(figures),
    ].join('\n\n'),
    figures,
  };
}

const title = `## Memory\n\nResident memory of all processes of a server, MiB: ${settleMs / 1000} s after it answers, and after ${tokens.toLocaleString('en-US')} tokens. Ours is installed from its package and has a small store. Pages that several processes have count for each of them.`;
const head = ['server', 'processes', 'idle', `after ${tokens.toLocaleString('en-US')} tokens`];

async function measure(contender: Contender, folder: string): Promise<Held> {
  const { name, args } = contender;
  const program = await startProgram({ name, args, logFile: join(folder, 'memory.log') }, serverProcessor);
  try {
    await delay(settleMs);
    const idle = treeResident(program.pid);
    await sendTokens(contender, program);
    const processes = processTree(program.pid);
    const last = heldMemory(processes.at(-1) ?? program.pid).own;
    return { idle, loaded: treeResident(program.pid), processes: processes.length, last };
  } finally {
    await program.stop();
  }
}

async function sendTokens(contender: Contender, { baseUrl }: Program): Promise<void> {
  const load = await startLoad(contender.token(baseUrl));
  try {
    await load.send(tokens);
  } finally {
    load.close();
  }
}

function figure(id: string, name: string, value: Figure['value'], aim: number): Figure {
  return {
    id: `memory/${id}`,
    title: name,
    unit: 'MB',
    value: inMegabytes(value),
    aim: { kind: 'at most', value: aim },
  };
}

function verdicts(figures: readonly Figure[]): string {
  return figures
    .map(
      ({ title: name, value, aim }) =>
        `- ${name}: ${formatSpread(value)} MiB, ${verdict(value.median, aim?.value ?? 0, 'at most')}`,
    )
    .join('\n');
}
