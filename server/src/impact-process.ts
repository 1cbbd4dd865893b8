import { usualBounds, Work } from './impact/work.ts';
import type { ImpactJob } from './management/dry-runs.ts';
import { findImpact } from './management/find-impact.ts';
import { type DocumentsJob, runDocumentsJob } from './management/plan-job.ts';
import { type RequestJob, runRequestJob } from './management/requests/request-job.ts';
import { openStore } from './store/open.ts';
import { answerJobs } from './work-process/answer-jobs.ts';

/* The process of `management/dry-runs.ts`: it uses the store by itself, so that nothing large goes through the request loop. */

// Our own parent asks.
answerJobs((job) => answerTo(job as Job));

type Job = ImpactJob | DocumentsJob | RequestJob;

async function answerTo(job: Job): Promise<unknown> {
  if (job.kind === 'request') return await runRequestJob(job);
  if (job.kind !== 'impact') return await runDocumentsJob(job);
  const store = await openStore(job.place, { readonly: true });
  try {
    return await findImpact(store, job.question, new Work(usualBounds));
  } finally {
    await store.close();
  }
}
