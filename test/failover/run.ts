import { parseArgs } from 'node:util';
import { type Cluster, faultsAfter, loseOnce, startFailover, startFailoverLoad, startPair } from '#support/failover';
import { hasPatroni, noPatroni, startPatroni } from '#support/patroni';
import { noPostgres, postgresPrograms } from '#support/postgres';
import { type Ending, wholeFile } from '#support/start-server';

/* Loses the primary again and again under load, and says what became of what was acknowledged. */

const usage = 'usage: npm run failover -w test -- [--times N] [--patroni]';
/** After the promotion; the promotion itself is the database's. */
const boundMs = 2000;
/** A machine that is busy with other things is slow, and not wrong. */
const failedMs = 15_000;

/** Answers the exit status. */
async function run(times: number, startCluster: (end: Ending) => Promise<Cluster>): Promise<number> {
  const end = wholeFile();
  try {
    const world = await startFailover(end, await startCluster(end));
    const load = await startFailoverLoad(world);
    const recoveries: number[] = [];
    for (let loss = 1; loss <= times; loss += 1) {
      const recovery = await loseOnce(world, load);
      recoveries.push(recovery);
      process.stdout.write(`loss ${loss}: every server takes changes ${Math.round(recovery)} ms after the promotion\n`);
    }
    await load.stop();
    const faults = await faultsAfter(world, load.told);
    const statuses = await Promise.all(world.servings.map((serving) => serving.end()));
    return report({ times, recoveries, faults, statuses, told: load.told });
  } finally {
    await end.end();
  }
}

interface Result {
  readonly times: number;
  readonly recoveries: readonly number[];
  readonly faults: readonly string[];
  readonly statuses: readonly unknown[];
  readonly told: Awaited<ReturnType<typeof startFailoverLoad>>['told'];
}

function report({ times, recoveries, faults, statuses, told }: Result): number {
  const sorted = [...recoveries].sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  const { roles, certificates, revoked, refused, reads } = told;
  const lines = [
    `losses of the primary: ${times}`,
    `acknowledged: ${roles.length} changes, ${certificates.length} certificates, ${revoked.length} revocations`,
    `lost or out of order: ${faults.length} (bound 0)`,
    `refused with 503 and Retry-After: ${refused}`,
    `tokens, access checks, bundles and keys answered meanwhile: ${reads}`,
    `first change after the promotion, of the slower server: median ${at(0.5)} ms, most ${at(1)} ms (bound ${boundMs} ms)`,
    ...faults.slice(0, 20),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return faults.length === 0 && at(1) <= failedMs && statuses.every((status) => status === 0) ? 0 : 1;
}

const { values } = parseArgs({
  options: { times: { type: 'string', default: '20' }, patroni: { type: 'boolean', default: false } },
});
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) {
  process.stderr.write(`${usage}\n`);
  process.exitCode = 2;
} else if (values.patroni && !hasPatroni) process.stdout.write(`skipped: ${noPatroni}\n`);
else if (postgresPrograms === undefined) process.stdout.write(`skipped: ${noPostgres}\n`);
else process.exitCode = await run(times, values.patroni ? startPatroni : (end) => startPair(end, 'sync'));
