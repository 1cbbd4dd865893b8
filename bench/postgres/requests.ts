import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { type Rounds, withServers } from '../measure/servers.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import { domainName } from '../sizes/fill-store.ts';
import type { Target } from '../token/load.ts';
import { kinds, type Pair } from './pair.ts';

/** A token and an access check, server beside server. */
export async function requestsBlock({ sqlite, postgres }: Pair, folder: string, quick: boolean): Promise<string> {
  const contenders = [sqlite.server, postgres.server];
  const plan = quick ? { warmUp: 1500, rounds: 9, requests: 500 } : { warmUp: 8000, rounds: 31, requests: 1500 };
  const measure = (targetOf: (token: Target, baseUrl: string) => Target): Promise<Rounds> =>
    withServers(
      {
        contenders,
        folder,
        target: async (contender, { baseUrl }) => targetOf(contender.token(baseUrl), baseUrl),
      },
      [],
      (running) => cpuRounds(running, plan),
    );
  const tokens = await measure((token) => token);
  const checks = await measure(accessCheck);
  return [
    '### A token and an access check',
    markdownTable(
      ['request', 'SQLite, µs', 'PostgreSQL, µs', 'PostgreSQL / SQLite', 'aim'],
      [rowOf('token', tokens), rowOf('access check', checks)],
    ),
  ].join('\n\n');
}

function accessCheck(token: Target, baseUrl: string): Target {
  const { certificateFile, keyFile, caFile, connections } = token;
  const url = `${baseUrl}/access/read?resource=${domainName(1)}:collection0.item&principal=media.player`;
  return { certificateFile, keyFile, caFile, connections, url, method: 'GET', headers: {}, expect: 200 };
}

function rowOf(name: string, rounds: Rounds): string[] {
  const [file, database] = [rounds.get(kinds.sqlite) ?? [], rounds.get(kinds.postgres) ?? []];
  const ratio = ratioOf(database, file);
  return [
    name,
    formatSpread(spreadOf(file)),
    formatSpread(spreadOf(database)),
    formatSpread(ratio),
    verdict(ratio.median, 1.03, 'at most'),
  ];
}
