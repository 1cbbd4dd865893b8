import { type ChildProcess, fork } from 'node:child_process';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PostgresServer } from '../measure/postgres.ts';
import { processCpuNanoseconds } from '../measure/process-cpu.ts';
import type { Program } from '../measure/program.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import { startServer } from '../sizes/cold-start.ts';
import type { FilledHome } from '../sizes/stores.ts';
import type { Pair } from './pair.ts';
import type { Order, Reply } from './refresh-load.ts';

const width = 16;

/** A refresh of an instance, with its handshake: the certificate that asks is the one of the refresh before. */
export async function refreshBlock(
  database: PostgresServer,
  { sqlite, postgres }: Pair,
  folder: string,
  quick: boolean,
): Promise<string> {
  const sides: Side[] = [];
  try {
    for (const home of [sqlite, postgres]) sides.push(await startSide(home, folder));
    const costs: number[][] = [[], []];
    const ofDatabase: number[] = [];
    const [rounds, count] = quick ? [7, 320] : [21, 640];
    for (let round = 0; round <= rounds; round += 1) {
      for (const [index, { program, load }] of sides.entries()) {
        const before = { server: processCpuNanoseconds(program.pid), database: database.cpuNanoseconds() };
        await ask(load, { kind: 'refresh', count });
        await delay(20); // time for the server's remaining work on these requests
        if (round === 0) continue; // the first round warms up
        costs[index]?.push((processCpuNanoseconds(program.pid) - before.server) / 1000 / count);
        if (index === 1) ofDatabase.push((database.cpuNanoseconds() - before.database) / 1000 / count);
      }
    }
    return blockOf(costs, ofDatabase);
  } finally {
    for (const { load, program } of sides) {
      load.disconnect();
      await program.stop();
    }
  }
}

function blockOf([file = [], server = []]: readonly number[][], ofDatabase: readonly number[]): string {
  const ratio = ratioOf(server, file);
  const row = [file, server, ofDatabase].map((values) => formatSpread(spreadOf(values)));
  return [
    `### A certificate refreshed, ${width} at once`,
    'Processor time of the server for one refresh of an instance, with the handshake, rights and log, and that of all processes of the database.',
    markdownTable(
      ['SQLite, µs', 'PostgreSQL, µs', 'the database itself, µs', 'PostgreSQL / SQLite', 'aim'],
      [[...row, formatSpread(ratio), verdict(ratio.median, 1.6, 'at most')]],
    ),
  ].join('\n\n');
}

interface Side {
  readonly program: Program;
  readonly load: ChildProcess;
}

async function startSide(home: FilledHome, folder: string): Promise<Side> {
  const program = await startServer(home, folder);
  const load = fork(fileURLToPath(new URL('./refresh-load.ts', import.meta.url)), [], {
    execArgv: ['--conditions=@signet/source'],
  });
  const { caFile, certificateFile } = home.server.token(program.baseUrl);
  const identities = dirname(certificateFile);
  const operator = {
    baseUrl: program.baseUrl,
    caFile,
    certificateFile: join(identities, 'sys.auth.operator.cert.pem'),
    keyFile: join(identities, 'sys.auth.operator.key.pem'),
  };
  await ask(load, { kind: 'register', operator, count: width });
  return { program, load };
}

function ask(child: ChildProcess, order: Order): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the load ended'));
    child.once('exit', ended);
    child.once('message', (reply: Reply) => {
      child.off('exit', ended);
      if (reply.kind === 'failed') reject(new Error(reply.reason));
      else resolve();
    });
    child.send(order);
  });
}
