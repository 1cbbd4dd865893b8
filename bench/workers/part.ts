import { fileURLToPath } from 'node:url';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { countingTree } from '../measure/instructions.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type Rounds, type ServersPlan, withServers } from '../measure/servers.ts';
import { ratioOf, ratioToMedian, type Spread, spreadOf } from '../measure/statistics.ts';
import { type Contender, createPeers, peerNames } from '../token/contenders.ts';
import { createSignet } from '../token/signet.ts';

const [one, two] = ['1 worker', '2 workers'];
const [bareOne, bareTwo] = ['bare node:https, 1 process', 'bare node:https, 2 processes'];
const aim = 1.08;
const pair = fileURLToPath(new URL('./bare-workers.ts', import.meta.url));

/** Connections: as few as in the other parts, and the minimum of a server that needs more than one process; the aim is for these. */
const [few, many] = [8, 64];
/** Counted rounds, which take long. */
const countedRounds = { warmUp: 12_000, rounds: 5, requests: 500 };

/**
 * Cost of a token where two processes share the port: processor time of all processes of the server, in interleaved rounds. Two processes that
 * take turns on one processor find less in its caches, whatever they do, and the more so the fewer requests there are at a turn: the bare server
 * shows how much of it is that. Each of two processes compiles for itself: the rounds begin when both have answered enough for that, 60,000
 * tokens each.
 */
export async function workersPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = await createSignet(folder);
  const contenders = [
    asPacked(signet, program, one),
    asPacked(signet, program, two, '--workers', '2'),
    ...(await barePeers(folder)),
  ];
  const planOf = (connections: number): ServersPlan => ({
    contenders,
    folder,
    target: async (contender, { baseUrl }) => ({ ...(await contender.token(baseUrl)), connections }),
  });
  const rounds = { warmUp: 120_000, rounds: quick ? 41 : 81, requests: 500 };
  const measure = (connections: number) =>
    withServers(planOf(connections), [], (running) => cpuRounds(running, rounds));
  const [ofFew, ofMany] = [await measure(few), await measure(many)];
  const counts = counter && (await countInstructions(planOf(few), countingTree(counter), countedRounds));
  const figures = [
    ...cpuFigures('workers', ofMany, `over ${many} connections`, { kind: 'at most', value: aim }),
    ...cpuFigures('workers/few', ofFew, `over ${few} connections`),
    ...countedFigures(counts),
  ];
  const [ratio] = figures;
  const reached =
    ratio && `With two workers ÷ with one, ${many} connections, ${verdict(ratio.value.median, aim, 'at most')}`;
  return {
    markdown: [
      '## Workers\n\nProcessor time of a token, µs, of all processes of a server; ours is installed from its package.',
      markdownTable(
        ['connections', 'server', 'processor time, µs', '÷ one', '÷ one, instructions'],
        [...rowsOf(few, ofFew, counts), ...rowsOf(many, ofMany, undefined)],
      ),
      reached,
    ].join('\n\n'),
    figures,
  };
}

function cpuFigures(id: string, cpu: Rounds, load: string, aimed?: Figure['aim']): Figure[] {
  return [
    {
      id: `${id}/token/cpu`,
      title: `a token with two workers ÷ with one, ${load}, processor time`,
      unit: '',
      value: ratioOf(cpu.get(two) ?? [], cpu.get(one) ?? []),
      ...(aimed !== undefined && { aim: aimed }),
    },
    {
      id: `${id}/bare/cpu`,
      title: `a token of a bare server with two processes ÷ with one, ${load}, processor time`,
      unit: '',
      value: ratioOf(cpu.get(bareTwo) ?? [], cpu.get(bareOne) ?? []),
    },
  ];
}

function rowsOf(connections: number, cpu: Rounds, counts: Rounds | undefined): string[][] {
  const row = (name: string, ratio: string, instructions: string) => [
    String(connections),
    name,
    formatSpread(spreadOf(cpu.get(name) ?? [])),
    ratio,
    instructions,
  ];
  const double = (name: string, single: string) =>
    row(name, formatSpread(ratioOf(cpu.get(name) ?? [], cpu.get(single) ?? [])), countedText(counts, name, single));
  return [row(one, '1', '1'), double(two, one), row(bareOne, '1', '1'), double(bareTwo, bareOne)];
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
