import { answerJobs } from '@signet/server/work-process/answer-jobs';

/* Job process of the tests: does as it is told. */

answerJobs(async (job) => {
  switch (job) {
    case 'who':
      return { pid: process.pid };
    case 'throw':
      throw new TypeError('as told');
    case 'memory': {
      const kept = new Map<number, readonly number[]>();
      for (let index = 0; ; index += 1) kept.set(index, [index]);
    }
    case 'exit':
      return process.exit(3);
    case 'spin':
      for (;;);
    default:
      return job;
  }
});
