import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import { type ColdStart, coldStart } from './cold-start.ts';
import type { FilledHome } from './stores.ts';

/** How long a server takes until it answers, and what memory it then holds. */
export async function startsBlock(homes: readonly FilledHome[], folder: string, quick: boolean): Promise<string> {
  const rows: string[][] = [];
  let last = { seconds: Number.NaN, cpuSeconds: Number.NaN, residentMebibytes: Number.NaN };
  for (const home of homes) {
    const starts: ColdStart[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round += 1) starts.push(await coldStart(home, folder));
    const of = (pick: (start: ColdStart) => number) => spreadOf(starts.map(pick));
    const seconds = of((start) => start.seconds);
    const cpuSeconds = of((start) => start.cpuSeconds);
    const resident = of((start) => start.residentMebibytes);
    last = { seconds: seconds.median, cpuSeconds: cpuSeconds.median, residentMebibytes: resident.median };
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
  return [
    markdownTable([...head, 'processor time of it, s', 'resident, MiB', 'peak, MiB'], rows),
    `Cold start at the last size, in seconds, ${verdict(last.seconds, 10, 'at most')}; in seconds of processor time, ${verdict(last.cpuSeconds, 10, 'at most')}. Resident memory, in MiB, ${verdict(last.residentMebibytes, 1024, 'at most')}.`,
  ].join('\n\n');
}
