import { impactOf } from '@signet/server/impact/impact';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { formatNumber, formatSpread, markdownTable } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import { impactWorkloads } from './workload.ts';

/** Cost of an impact: 1,000 assertions by 1,000 members, no two members alike. */
export async function impactPart({ quick }: PartContext): Promise<PartReport> {
  const rows = impactWorkloads({ assertions: 1000, members: 1000 }).map(({ name, before, after }) => {
    const times: number[] = [];
    let changes = 0;
    for (let round = 0; round < (quick ? 3 : 9); round += 1) {
      const started = process.cpuUsage();
      changes = impactOf(before, after, 0).length;
      const { user, system } = process.cpuUsage(started);
      times.push((user + system) / 1000);
    }
    return [name, formatNumber(changes), formatSpread(spreadOf(times))];
  });
  const markdown = [
    '## The impact of a change',
    '1,000 assertions (exact, prefix and wildcard, 2 % DENY) by 1,000 members of 100 roles.',
    markdownTable(['change', 'changes of access found', 'processor time, ms'], rows),
  ].join('\n\n');
  return { markdown, figures: [] };
}
