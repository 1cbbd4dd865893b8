import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { StorePlace } from '@signet/server/config/store-place';
import { pinTo } from '../measure/program.ts';
import type { ChangeKind } from './changes.ts';
import type { Order, Reply } from './writer.ts';

/** Handle of a process that changes one store. */
export interface Writer {
  /** Microseconds of processor time a change, its snapshot included. */
  costOf(change: ChangeKind, count: number): Promise<number>;
  /** Changes of every kind go on while `work` runs; how many there were comes with its result. */
  during<Result>(perSecond: number, work: () => Promise<Result>): Promise<{ result: Result; changes: number }>;
  /** Makes `count` changes, `width` at once; returns the seconds that they took. */
  burst(count: number, width: number): Promise<number>;
  close(): void;
}

const script = fileURLToPath(new URL('./writer.ts', import.meta.url));

/** It runs on the processor that the servers do not use, or on all. */
export async function startWriter(
  place: StorePlace,
  where: 'beside servers' | 'anywhere' = 'beside servers',
): Promise<Writer> {
  const pinned = where === 'anywhere' ? [] : pinTo(0);
  const [command = process.execPath, ...wrapper] = [...pinned, process.execPath];
  const child = fork(script, [], { execPath: command, execArgv: [...wrapper, '--conditions=@signet/source'] });
  await ask(child, { kind: 'open', place });
  return {
    costOf: (change, count) => ask(child, { kind: 'cost', change, count }),
    burst: (count, width) => ask(child, { kind: 'burst', count, width }),
    async during(perSecond, work) {
      await ask(child, { kind: 'stream', perSecond });
      const result = await work();
      return { result, changes: await ask(child, { kind: 'stop' }) };
    },
    close: () => child.disconnect(),
  };
}

function ask(child: ChildProcess, order: Order): Promise<number> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the writer ended'));
    child.once('exit', ended);
    child.once('message', (reply: Reply) => {
      child.off('exit', ended);
      if (reply.kind === 'failed') reject(new Error(reply.reason));
      else resolve(reply.value);
    });
    child.send(order, (error) => error && reject(error));
  });
}
