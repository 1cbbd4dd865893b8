import { fileURLToPath } from 'node:url';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { countingTree } from '../measure/instructions.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type Rounds, withServers } from '../measure/servers.ts';
import { ratioOf, ratioToMedian, type Spread, spreadOf } from '../measure/statistics.ts';
import { type Contender, createPeers, peerNames } from '../token/contenders.ts';
import { createSignet } from '../token/signet.ts';

const [one, two] = ['1 worker', '2 workers'];
const [bareOne, bareTwo] = ['bare node:https, 1 process', 'bare node:https, 2 processes'];
const aim = 1.08;
const pair = fileURLToPath(new URL('./bare-workers.ts', import.meta.url));

/**
 * What a token costs where two processes share the port: processor time of all processes of the server, in interleaved rounds. Two processes that take
 * turns on one processor find less in its caches, whatever they do: the bare server shows how much of it is that.
 */
export async function workersPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = await createSignet(folder);
  const contenders = [
    asPacked(signet, program, one),
    asPacked(signet, program, two, '--workers', '2'),
    ...(await barePeers(folder)),
  ];
  const target = async (contender: (typeof contenders)[number], { baseUrl }: { readonly baseUrl: string }) =>
    contender.token(baseUrl);
  const rounds = quick ? { warmUp: 6000, rounds: 15, requests: 500 } : { warmUp: 16_000, rounds: 41, requests: 1500 };
  const cpu = await withServers({ contenders, folder, target }, [], (running) => cpuRounds(running, rounds));
  const counts =
    counter &&
    (await countInstructions({ contenders, folder, target }, countingTree(counter), {
      warmUp: 12_000,
      rounds: 5,
      requests: 500,
    }));
  const [single, both] = [cpu.get(one) ?? [], cpu.get(two) ?? []];
  const ratio = ratioOf(both, single);
  const bare = ratioOf(cpu.get(bareTwo) ?? [], cpu.get(bareOne) ?? []);
  const rows = [
    [one, formatSpread(spreadOf(single)), '1', '1'],
    [two, formatSpread(spreadOf(both)), formatSpread(ratio), countedText(counts, two, one)],
    [bareOne, formatSpread(spreadOf(cpu.get(bareOne) ?? [])), '1', '1'],
    [
      bareTwo,
      formatSpread(spreadOf(cpu.get(bareTwo) ?? [])),
      formatSpread(bare),
      countedText(counts, bareTwo, bareOne),
    ],
  ];
  const text =
    '## Workers\n\nProcessor time of a token, µs, of all processes of a server; ours is installed from its package.';
  const reached = `With two workers ÷ with one, ${verdict(ratio.median, aim, 'at most')}`;
  return {
    markdown: [
      text,
      markdownTable(['server', 'processor time, µs', '÷ one', '÷ one, instructions'], rows),
      reached,
    ].join('\n\n'),
    figures: [
      {
        id: 'workers/token/cpu',
        title: 'a token with two workers ÷ with one, processor time',
        unit: '',
        value: ratio,
        aim: { kind: 'at most', value: aim },
      },
      {
        id: 'workers/bare/cpu',
        title: 'a token of a bare server with two processes ÷ with one, processor time',
        unit: '',
        value: bare,
      },
      ...countedFigures(counts),
    ],
  };
}

function countedFigures(counts: Rounds | undefined): Figure[] {
  const figure = (id: string, title: string, value: Spread | undefined): Figure[] =>
    value === undefined ? [] : [{ id, title: `${title} ÷ with one, instructions`, unit: '', value }];
  return [
    ...figure('workers/token/instructions', 'a token with two workers', counted(counts, two, one)),
    ...figure(
      'workers/bare/instructions',
      'a token of a bare server with two processes',
      counted(counts, bareTwo, bareOne),
    ),
  ];
}

function counted(counts: Rounds | undefined, many: string, single: string): Spread | undefined {
  return counts && ratioToMedian(counts.get(many) ?? [], counts.get(single) ?? []);
}

function countedText(counts: Rounds | undefined, many: string, single: string): string {
  const spread = counted(counts, many, single);
  return spread === undefined ? 'not counted' : formatSpread(spread);
}

/** The bare server of the part `token`, in one process and in two. */
async function barePeers(folder: string): Promise<readonly Contender[]> {
  const bare = (await createPeers(folder)).find(({ name }) => name === peerNames.bare);
  if (bare === undefined) throw new Error('there is no bare server');
  const [flag = '', , ...files] = bare.args;
  return [
    { ...bare, name: bareOne },
    { ...bare, name: bareTwo, args: [flag, pair, ...files] },
  ];
}
