import { workerData } from 'node:worker_threads';
import { usualBounds, Work } from './impact/work.ts';
import type { ImpactThreadData } from './management/dry-runs.ts';
import { findImpact, type ImpactQuestion } from './management/find-impact.ts';
import { openSqliteStore } from './store/sqlite/open.ts';
import { answerJobs } from './threads/answer-jobs.ts';

/* The thread of `management/dry-runs.ts`: reads the store by itself, so that nothing large goes through the request loop. */

const { storeFile } = workerData as ImpactThreadData;

answerJobs(async (job, isCancelled) => {
  const store = await openSqliteStore(storeFile, { readonly: true });
  try {
    return await findImpact(store, job as ImpactQuestion, new Work(usualBounds, isCancelled));
  } finally {
    await store.close();
  }
});
