import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import type { InstructionCounter } from '../measure/instructions.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { treeCpuNanoseconds } from '../measure/process-tree.ts';
import { startProgram } from '../measure/program.ts';
import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';
import { type Contender, createPeers, peerNames } from '../token/contenders.ts';
import { createSignet } from '../token/signet.ts';

const serverProcessor = 1;

/** Says at its end, on standard error, how many microseconds of processor time the process took. */
const sayingTime = `data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();process.stderr.write(String(user+system))})`;

const [nothing, version, serve] = ['Node that does nothing', '`signet --version`', '`signet serve`'];

/** Processor time from the start of the process until a server answers, and of a command that only says something. */
export async function startPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = asPacked(await createSignet(folder), program, 'ours');
  const peers = (await createPeers(folder)).filter(({ name }) => name !== peerNames.oidc);
  const starts: readonly (readonly [name: string, start: () => Promise<number>])[] = [
    [nothing, async () => secondsOf(['--eval', '0'])],
    [version, async () => secondsOf([program, '--version'])],
    ...peers.map((peer) => [peer.name, () => untilReady(peer, folder)] as const),
    [serve, () => untilReady(signet, folder)],
  ];
  const seconds = new Map<string, number[]>(starts.map(([name]) => [name, []]));
  for (let round = 0; round < (quick ? 3 : 11); round += 1) {
    for (const [name, start] of starts) seconds.get(name)?.push(await start());
  }
  const of = (name: string): Spread => spreadOf(seconds.get(name) ?? []);
  const figures: Figure[] = [
    {
      ...inSeconds('start/version', '`signet --version`, processor time', of(version)),
      aim: atMost(0.15),
    },
    {
      ...inSeconds('start/serve', '`signet serve` until it answers, processor time', of(serve)),
      aim: atMost(0.5),
    },
  ];
  const counts = counter && (await countStarts(counter, folder, { program, servers: [...peers, signet] }));
  figures.push(...countedFigures(counts));
  const rows = starts.map(([name]) => [name, formatSpread(of(name)), countText(counts, name)]);
  const verdicts = figures.flatMap(({ title, value, aim }) =>
    aim === undefined ? [] : [`- ${title}: ${verdict(value.median, aim.value, 'at most')}`],
  );
  const text =
    '## Start\n\nProcessor time of all threads, s, without a compile cache; ours is installed from its package.';
  return {
    markdown: [
      text,
      markdownTable(['program', 'processor time', 'instructions, in units of Node that does nothing'], rows),
      verdicts.join('\n'),
    ].join('\n\n'),
    figures,
  };
}

/** Instructions of each start, once: they hardly differ from one to the next. */
async function countStarts(
  counter: InstructionCounter,
  folder: string,
  { program, servers }: { readonly program: string; readonly servers: readonly Contender[] },
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map([
    [nothing, counter.run(['--eval', '0'])],
    [version, counter.run([program, '--version'])],
  ]);
  for (const { name, args } of servers) {
    const wrapper = counter.fromStart;
    const logFile = join(folder, 'start.log');
    const running = await startProgram({ name, args, wrapper, logFile }, serverProcessor);
    try {
      counts.set(name === 'ours' ? serve : name, await counter.take(running.pid));
    } finally {
      await running.stop();
    }
  }
  return counts;
}

function countedFigures(counts: ReadonlyMap<string, number> | undefined): Figure[] {
  const figure = (id: string, name: string): Figure[] => {
    const value = ratioToNothing(counts, name);
    const title = `${name} ÷ Node that does nothing, instructions`;
    return value === undefined ? [] : [{ id, title, unit: '', value: spreadOf([value]) }];
  };
  return [...figure('start/version/instructions', version), ...figure('start/serve/instructions', serve)];
}

function ratioToNothing(counts: ReadonlyMap<string, number> | undefined, name: string): number | undefined {
  const [count, least] = [counts?.get(name), counts?.get(nothing)];
  return count === undefined || least === undefined ? undefined : count / least;
}

function countText(counts: ReadonlyMap<string, number> | undefined, name: string): string {
  const value = ratioToNothing(counts, name);
  return value === undefined ? 'not counted' : formatNumber(value);
}

function inSeconds(id: string, title: string, value: Spread): Figure {
  return { id, title, unit: 's', value };
}

const atMost = (value: number) => ({ kind: 'at most', value }) as const;

function secondsOf(args: readonly string[]): number {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const words = ['--import', sayingTime, ...args];
  const script = '"$0" "$@" 2>&1 >/dev/null';
  return Number(execFileSync('sh', ['-c', script, process.execPath, ...words], { env, encoding: 'utf8' })) / 1e6;
}

async function untilReady({ name, args }: Contender, folder: string): Promise<number> {
  const program = await startProgram({ name, args, logFile: join(folder, 'start.log') }, serverProcessor);
  try {
    return treeCpuNanoseconds(program.pid) / 1e9;
  } finally {
    await program.stop();
  }
}
