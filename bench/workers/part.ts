import type { PartContext, PartReport } from '../measure/figure.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { withServers } from '../measure/servers.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import { createSignet } from '../token/signet.ts';

const [one, two] = ['1 worker', '2 workers'];
const aim = 1.08;

/** What a token costs where two processes share the port: processor time of all processes of the server, in interleaved rounds. */
export async function workersPart({ folder, quick }: PartContext): Promise<PartReport> {
  const program = packServer(folder);
  const signet = await createSignet(folder);
  const contenders = [asPacked(signet, program, one), asPacked(signet, program, two, '--workers', '2')];
  const target = async (contender: (typeof contenders)[number], { baseUrl }: { readonly baseUrl: string }) =>
    contender.token(baseUrl);
  const rounds = quick ? { warmUp: 6000, rounds: 15, requests: 500 } : { warmUp: 16_000, rounds: 41, requests: 1500 };
  const cpu = await withServers({ contenders, folder, target }, [], (running) => cpuRounds(running, rounds));
  const [single, both] = [cpu.get(one) ?? [], cpu.get(two) ?? []];
  const ratio = ratioOf(both, single);
  const rows = [
    [one, formatSpread(spreadOf(single)), '1'],
    [two, formatSpread(spreadOf(both)), formatSpread(ratio)],
  ];
  const text =
    '## Workers\n\nProcessor time of a token, µs, of all processes of a server; ours is installed from its package.';
  const reached = `With two workers ÷ with one, ${verdict(ratio.median, aim, 'at most')}`;
  return {
    markdown: [text, markdownTable(['server', 'processor time, µs', '÷ one'], rows), reached].join('\n\n'),
    figures: [
      {
        id: 'workers/token/cpu',
        title: 'a token with two workers ÷ with one, processor time',
        unit: '',
        value: ratio,
        aim: { kind: 'at most', value: aim },
      },
    ],
  };
}
