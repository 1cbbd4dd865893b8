import { formatSpread, markdownTable } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import { type ChangeKind, changeKinds } from './changes.ts';
import type { FilledHome } from './stores.ts';
import type { Writer } from './writer-process.ts';

/** For each kind of change the costs at each size, round by round. */
export type Costs = ReadonlyMap<ChangeKind, readonly (readonly number[])[]>;

/** Every store takes its turn in each round. */
export async function changeCosts(writers: readonly Writer[], quick: boolean): Promise<Costs> {
  const [rounds, count] = quick ? [3, 40] : [9, 60];
  const costs = new Map<ChangeKind, number[][]>(changeKinds.map((kind) => [kind, writers.map(() => [])]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const kind of changeKinds) {
      for (const [index, writer] of writers.entries()) {
        const cost = await writer.costOf(kind, count);
        if (round > 0) costs.get(kind)?.[index]?.push(cost); // the first round warms up
      }
    }
  }
  return costs;
}

export function costsTable(homes: readonly FilledHome[], costs: Costs): string {
  const head = homes.map(({ size }) => `${size.domains.toLocaleString('en-US')} domains`);
  const rows = [...costs].map(([kind, sizes]) => {
    const [least = [], most = []] = [sizes[0], sizes.at(-1)];
    return [kind, ...sizes.map((rounds) => formatSpread(spreadOf(rounds))), formatSpread(ratioOf(most, least))];
  });
  return markdownTable(['change', ...head, 'largest store / smallest'], rows);
}
