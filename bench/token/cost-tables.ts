import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import type { Rounds } from '../measure/servers.ts';
import { ratioOf } from '../measure/statistics.ts';

export interface Costs {
  readonly cpu: Rounds;
  /** Absent where instructions cannot be counted. */
  readonly instructions: Rounds | undefined;
}

export interface Aim {
  readonly peer: string;
  /** The cost of ours in units of that of the peer, at most. */
  readonly aim: number;
}

/** Ours against each peer. Counted instructions decide whether an aim is reached; processor time where there are none. */
export function costTable(aims: readonly Aim[], ours: string, { cpu, instructions }: Costs): string {
  const ratio = (rounds: Rounds, peer: string) => ratioOf(rounds.get(ours) ?? [], rounds.get(peer) ?? []);
  const rows = aims.map(({ peer, aim }) => {
    const cpuRatio = ratio(cpu, peer);
    const counted = instructions && ratio(instructions, peer);
    return [
      `ours / ${peer}`,
      counted === undefined ? 'not counted' : formatSpread(counted),
      formatSpread(cpuRatio),
      verdict((counted ?? cpuRatio).median, aim, 'at most'),
    ];
  });
  return markdownTable(['cost of a request', 'instructions', 'processor time', 'aim'], rows);
}

/** All servers in units of one, so that a reader can see how the peers stand to each other. */
export function peerTable(base: string, { cpu, instructions }: Costs): string {
  const cell = (rounds: Rounds | undefined, name: string): string =>
    rounds === undefined ? 'not counted' : formatSpread(ratioOf(rounds.get(name) ?? [], rounds.get(base) ?? []));
  const rows = [...cpu.keys()].map((name) => [name, cell(instructions, name), cell(cpu, name)]);
  return markdownTable([`in units of ${base}`, 'instructions', 'processor time'], rows);
}
