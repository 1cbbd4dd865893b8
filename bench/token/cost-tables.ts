import type { Figure } from '../measure/figure.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import type { Rounds } from '../measure/servers.ts';
import { ratioOf, ratioToMedian, type Spread } from '../measure/statistics.ts';

export interface Costs {
  readonly cpu: Rounds;
  /** Instructions; absent where they cannot be counted. */
  readonly instructions: Rounds | undefined;
}

export interface Aim {
  /** Names the peer in the ids of figures. */
  readonly id: string;
  readonly peer: string;
  /** Maximum cost of Signet in units of the peer's; absent without an aim. */
  readonly aim?: number;
}

/** Ours against each peer. Processor time decides whether an aim is reached; counted instructions are steadier and say less. */
export function costTable(aims: readonly Aim[], ours: string, { cpu, instructions }: Costs): string {
  const rows = aims.map(({ peer, aim }) => {
    const cpuRatio = compare(ratioOf, cpu, ours, peer);
    const counted = instructions && compare(ratioToMedian, instructions, ours, peer);
    return [
      `ours / ${peer}`,
      counted === undefined ? 'not counted' : formatSpread(counted),
      formatSpread(cpuRatio),
      aim === undefined ? '' : verdict(cpuRatio.median, aim, 'at most'),
    ];
  });
  return markdownTable(['cost of a request', 'instructions', 'processor time', 'aim'], rows);
}

/** The same as figures: processor time with the aim, instructions without one. */
export function costFigures(
  part: string,
  what: string,
  aims: readonly Aim[],
  ours: string,
  { cpu, instructions }: Costs,
): Figure[] {
  return aims.flatMap(({ id, peer, aim }) => {
    const cpuFigure: Figure = {
      id: `${part}/${id}/cpu`,
      title: `${what} ÷ ${peer}, processor time`,
      unit: '',
      value: compare(ratioOf, cpu, ours, peer),
      ...(aim !== undefined && { aim: { kind: 'at most', value: aim } as const }),
    };
    if (instructions === undefined) return [cpuFigure];
    const value = compare(ratioToMedian, instructions, ours, peer);
    return [cpuFigure, { id: `${part}/${id}/instructions`, title: `${what} ÷ ${peer}, instructions`, unit: '', value }];
  });
}

/** All servers in units of one, so that a reader can see how the peers stand to each other. */
export function peerTable(base: string, { cpu, instructions }: Costs): string {
  const rows = [...cpu.keys()].map((name) => [
    name,
    instructions === undefined ? 'not counted' : formatSpread(compare(ratioToMedian, instructions, name, base)),
    formatSpread(compare(ratioOf, cpu, name, base)),
  ]);
  return markdownTable([`in units of ${base}`, 'instructions', 'processor time'], rows);
}

type Ratio = (ours: readonly number[], peer: readonly number[]) => Spread;

function compare(ratio: Ratio, rounds: Rounds, ours: string, peer: string): Spread {
  return ratio(rounds.get(ours) ?? [], rounds.get(peer) ?? []);
}
