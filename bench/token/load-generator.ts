import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Order, Report, Target } from './load.ts';

/** An answer that the generator kept as a sample. */
export interface Sample {
  readonly body: string;
  readonly etag: string | undefined;
}

/** Handle of a load generator in its own process. */
export interface LoadGenerator {
  /** Sends `count` requests; resolves when all are answered as expected, with the last body. */
  send(count: number): Promise<Sample>;
  /** Sends `count` requests at a steady pace; how long each took, in milliseconds. */
  pace(count: number, perSecond: number): Promise<readonly number[]>;
  close(): void;
}

const script = fileURLToPath(new URL('./load.ts', import.meta.url));

/** Starts a generator for one server. */
export async function startLoad(target: Target): Promise<LoadGenerator> {
  const child = fork(script, [], {
    execArgv: ['--conditions=@signet/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await order(child, { kind: 'target', target });
  return {
    send: async (count) => {
      const report = await order(child, { kind: 'send', count });
      return report.kind === 'done' ? { body: report.sample, etag: report.etag } : { body: '', etag: undefined };
    },
    pace: async (count, perSecond) => {
      const report = await order(child, { kind: 'pace', count, perSecond });
      return report.kind === 'paced' ? report.milliseconds : [];
    },
    close: () => child.disconnect(),
  };
}

function order(child: ChildProcess, message: Order): Promise<Report> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the load generator ended'));
    child.once('exit', ended);
    child.once('message', (report: Report) => {
      child.off('exit', ended);
      if (report.kind === 'failed') reject(new Error(report.reason));
      else resolve(report);
    });
    child.send(message);
  });
}
