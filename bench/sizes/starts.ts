import type { Figure, PartReport } from '../measure/figure.ts';
import { inMegabytes } from '../measure/process-tree.ts';
import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';
import { type ColdStart, coldStart } from './cold-start.ts';
import type { FilledHome } from './stores.ts';

/** Time until a server answers, and its memory then; figures are of the last size. */
export async function measureStarts(homes: readonly FilledHome[], folder: string, quick: boolean): Promise<PartReport> {
  const rows: string[][] = [];
  let last: Last | undefined;
  for (const home of homes) {
    const starts: ColdStart[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round += 1) starts.push(await coldStart(home, folder));
    const of = (pick: (start: ColdStart) => number) => spreadOf(starts.map(pick));
    const seconds = of((start) => start.seconds);
    const cpuSeconds = of((start) => start.cpuSeconds);
    const resident = of((start) => start.residentMebibytes);
    last = { domains: home.size.domains, seconds, cpuSeconds, resident };
    const { domains, roles, members, assertions } = home.size;
    rows.push([
      ...[domains, roles, members, assertions].map((count) => count.toLocaleString('en-US')),
      formatNumber(home.megabytes),
      formatSpread(seconds),
      formatSpread(cpuSeconds),
      formatSpread(resident),
      formatNumber(of((start) => start.peakMebibytes).high),
    ]);
  }
  const head = ['domains', 'roles', 'members', 'assertions', 'file, MiB', 'cold start, s'];
  if (last === undefined) throw new Error('there is no size');
  const table = markdownTable([...head, 'processor time of it, s', 'resident, MiB', 'peak, MiB'], rows);
  const elapsed = `Cold start at the last size, in seconds, ${verdict(last.seconds.median, 10, 'at most')}.`;
  const figures = figuresOf(last);
  const verdicts = figures.map(
    ({ title, unit, value, aim }) =>
      `- ${title}: ${formatSpread(value)} ${unit}${aim ? `, ${verdict(value.median, aim.value, aim.kind)}` : ''}`,
  );
  return { markdown: [table, elapsed, verdicts.join('\n')].join('\n\n'), figures };
}

interface Last {
  readonly domains: number;
  readonly seconds: Spread;
  readonly cpuSeconds: Spread;
  readonly resident: Spread;
}

/** The aims are of 10,000 domains and a million members. */
function figuresOf({ domains, cpuSeconds, resident }: Last): readonly Figure[] {
  const figure = ([id, what, unit]: readonly [string, string, string], value: Spread, most: number): Figure => ({
    id: `sizes/${id}/${domains}`,
    title: `${what} with ${domains.toLocaleString('en-US')} domains`,
    unit,
    value,
    ...(domains === 10_000 && { aim: { kind: 'at most', value: most } }),
  });
  return [
    figure(['start', 'start of a server, processor time,', 's'], cpuSeconds, 3.5),
    figure(['memory', 'resident memory of a server', 'MB'], inMegabytes(resident), 550),
  ];
}
