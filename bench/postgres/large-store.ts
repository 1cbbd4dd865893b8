import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, type Spread, spreadOf } from '../measure/statistics.ts';
import { changeCosts } from '../sizes/change-costs.ts';
import { type ColdStart, coldStart } from '../sizes/cold-start.ts';
import { startWriter } from '../sizes/writer-process.ts';
import type { Pair } from './pair.ts';

/** Starts, memory and changes of a large store of each kind. */
export async function largeStoreBlock({ sqlite, postgres }: Pair, folder: string, quick: boolean): Promise<string> {
  const homes = [sqlite, postgres];
  const starts: ColdStart[][] = [[], []];
  for (let round = 0; round < (quick ? 3 : 5); round += 1) {
    for (const [index, home] of homes.entries()) starts[index]?.push(await coldStart(home, folder));
  }
  const writers = await Promise.all(homes.map(({ place }) => startWriter(place)));
  const costs = await changeCosts(writers, quick).finally(() => {
    for (const writer of writers) writer.close();
  });
  const startRow = (name: string, pick: (start: ColdStart) => number, aim?: number) => {
    const [file = [], database = []] = starts.map((each) => each.map(pick));
    return row(name, file, database, aim);
  };
  const { domains, members } = sqlite.size;
  return [
    `### ${domains.toLocaleString('en-US')} domains and ${members.toLocaleString('en-US')} members`,
    'Starts until the server answers, and processor time of one change through the rules of the management API and the snapshot that follows it.',
    markdownTable(
      ['', 'SQLite', 'PostgreSQL', 'PostgreSQL / SQLite', 'aim'],
      [
        startRow('start, s', ({ seconds }) => seconds, 2),
        startRow('processor time of the server for it, s', ({ cpuSeconds }) => cpuSeconds, 2),
        startRow('resident, MiB', ({ residentMebibytes }) => residentMebibytes),
        ...[...costs].map(([kind, [file = [], database = []]]) => row(`${kind}, µs`, file, database)),
      ],
    ),
  ].join('\n\n');
}

function row(name: string, file: readonly number[], database: readonly number[], aim?: number): string[] {
  const ratio: Spread = ratioOf(database, file);
  const shown = [spreadOf(file), spreadOf(database), ratio].map(formatSpread);
  return [name, ...shown, aim === undefined ? '' : verdict(ratio.median, aim, 'at most')];
}
