import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { markdownTable } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';

const testFolder = join(import.meta.dirname, '../../test');
const scenarios = ['bounds-management-load', 'bounds-management-changes'];
const line = /ℹ (.+) \(\d+ tokens meanwhile\): ([\d.]+) ms/g;
/** Longest hold of the request loop that is aimed at, in milliseconds. */
const mostMs = 50;

/** Longest hold of the request loop by each management request, in processor time of its thread, on a domain that fills its quotas. */
export async function holdsPart({ quick }: PartContext): Promise<PartReport> {
  const held = new Map<string, number[]>();
  for (let round = 0; round < (quick ? 1 : 3); round += 1) {
    // Sequential: each starts a server.
    for (const [what, ms] of scenarios.flatMap(measured)) held.set(what, [...(held.get(what) ?? []), ms]);
  }
  const rows = [...held].map(([what, times]) => ({ what, ...spreadOf(times) })).sort((a, b) => b.median - a.median);
  const longest = rows[0];
  if (longest === undefined) throw new Error('the scenarios measured nothing');
  const markdown = [
    '## The longest hold of the request loop by a management request',
    '100,000 members, 20,000 assertions, 20,000 due reviews; `media.player` gets one token after the other meanwhile.',
    markdownTable(
      ['request', 'median, ms', 'highest, ms'],
      rows.map(({ what, median, high }) => [what, median.toFixed(1), high.toFixed(1)]),
    ),
  ].join('\n\n');
  const { low, median, high } = longest;
  return {
    markdown,
    figures: [
      {
        id: 'holds/longest/cpu',
        title: 'the longest hold of the request loop by a management request',
        unit: 'ms',
        value: { low, median, high },
        aim: { kind: 'at most', value: mostMs },
      },
    ],
  };
}

/** Requests of a scenario with what the test logs of them. Throws where it did not pass. */
function measured(scenario: string): [what: string, ms: number][] {
  const command = ['ava', '--serial', `system/${scenario}.test.ts`];
  const { status, stdout, stderr } = spawnSync('npx', command, { cwd: testFolder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${scenario} did not pass:\n${stdout}${stderr}`);
  return [...stdout.matchAll(line)].map(([, what = '', ms]) => [what, Number(ms)]);
}
