import type { JobAnswer } from './work-process.ts';

/** Answers the jobs of the parent process with the results of `work`, until the parent ends. */
export function answerJobs(work: (job: unknown) => Promise<unknown>): void {
  const answer = (value: JobAnswer) => process.send?.(value, undefined, {}, () => undefined);
  process.on('message', ({ job }: { readonly job: unknown }) => {
    work(job).then(
      (value) => answer({ kind: 'answer', value }),
      (error: unknown) => answer({ kind: 'failure', error }),
    );
  });
  process.on('disconnect', () => process.exit());
}
