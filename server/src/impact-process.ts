import { usualBounds, Work } from './impact/work.ts';
import type { ImpactJob } from './management/dry-runs.ts';
import { findImpact } from './management/find-impact.ts';
import { openStore } from './store/open.ts';
import { answerJobs } from './work-process/answer-jobs.ts';

/* The process of `management/dry-runs.ts`: it reads the store by itself, so that nothing large goes through the request loop. */

answerJobs(async (job) => {
  // Our own parent asks.
  const { place, question } = job as ImpactJob;
  const store = await openStore(place, { readonly: true });
  try {
    return await findImpact(store, question, new Work(usualBounds));
  } finally {
    await store.close();
  }
});
