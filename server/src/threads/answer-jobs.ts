import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer, ThreadJob } from './thread-on-demand.ts';

/** Has this thread answer the jobs of its parent with what `work` answers. `isCancelled` says whether somebody still waits. */
export function answerJobs(work: (job: unknown, isCancelled: () => boolean) => Promise<unknown>): void {
  const port = parentPort;
  if (port === null) throw new Error('this module runs in a worker thread only');
  port.on('message', ({ job, cancelled }: ThreadJob) => {
    const answer = (value: ThreadAnswer) => port.postMessage(value);
    work(job, () => Atomics.load(cancelled, 0) !== 0).then(
      (value) => answer({ kind: 'answer', value }),
      (error: unknown) => answer({ kind: 'failure', error }),
    );
  });
}
