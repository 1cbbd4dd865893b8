import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { treeCpuNanoseconds } from '../measure/process-tree.ts';
import { startProgram } from '../measure/program.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';
import { type Contender, createPeers, peerNames } from '../token/contenders.ts';
import { createSignet } from '../token/signet.ts';

const serverProcessor = 1;

/** Says at its end, on standard error, how many microseconds of processor time the process took. */
const sayingTime = `data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();process.stderr.write(String(user+system))})`;

/** Processor time from the start of the process until a server answers, and of a command that only says something. */
export async function startPart({ folder, quick }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = asPacked(await createSignet(folder), program, 'ours');
  const peers = (await createPeers(folder)).filter(({ name }) => name !== peerNames.oidc);
  const starts: readonly (readonly [name: string, start: () => Promise<number>])[] = [
    ['Node that does nothing', async () => secondsOf(['--eval', '0'])],
    ['`signet --version`', async () => secondsOf([program, '--version'])],
    ...peers.map((peer) => [peer.name, () => untilReady(peer, folder)] as const),
    ['`signet serve`', () => untilReady(signet, folder)],
  ];
  const seconds = new Map<string, number[]>(starts.map(([name]) => [name, []]));
  for (let round = 0; round < (quick ? 3 : 11); round += 1) {
    for (const [name, start] of starts) seconds.get(name)?.push(await start());
  }
  const of = (name: string): Spread => spreadOf(seconds.get(name) ?? []);
  const figures: Figure[] = [
    {
      ...inSeconds('start/version', '`signet --version`, processor time', of('`signet --version`')),
      aim: atMost(0.15),
    },
    {
      ...inSeconds('start/serve', '`signet serve` until it answers, processor time', of('`signet serve`')),
      aim: atMost(0.5),
    },
  ];
  const rows = starts.map(([name]) => [name, formatSpread(of(name))]);
  const verdicts = figures.map(
    ({ title, value, aim }) => `- ${title}: ${verdict(value.median, aim?.value ?? 0, 'at most')}`,
  );
  const text =
    '## Start\n\nProcessor time of all threads, s, without a compile cache; ours is installed from its package.';
  return {
    markdown: [text, markdownTable(['program', 'processor time'], rows), verdicts.join('\n')].join('\n\n'),
    figures,
  };
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
