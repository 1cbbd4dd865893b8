import type { StorePlace } from '../config/store-place.ts';
import { InvalidRequestError, type PlainFailure, plainFailure } from '../errors.ts';
import type { ChangeContext } from '../model/records.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import { applyDocuments } from './apply-documents.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import type { DocumentAuthor, JudgingOptions } from './judge-documents.ts';
import { listedPlan, maxListedProblems, planDocuments } from './plan-documents.ts';
import { filesFolder, readFiles } from './plan-files.ts';

/** A plan or an apply of the management API, as the process that does it is asked for it: plain data. */
export interface DocumentsJob {
  readonly kind: 'plan' | 'apply';
  readonly place: StorePlace;
  /** The body of the request, unparsed. */
  readonly body: string;
  readonly options: JudgingOptions & { readonly author: DocumentAuthor };
  readonly context: ChangeContext;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Digest of the effect to apply; absent for a plan. */
  readonly plan?: string;
}

/** Answer of the process: the JSON of the response, or why there is none. */
export type DocumentsAnswer =
  | { readonly kind: 'json'; readonly json: Uint8Array }
  | { readonly kind: 'failed'; readonly failure: PlainFailure };

/** Plans or applies the files of a request. Failures that a caller may see are answered, others thrown. */
export async function runDocumentsJob(job: DocumentsJob): Promise<DocumentsAnswer> {
  try {
    const folder = filesFolder(readFiles(job.body));
    if (job.kind === 'apply' && folder.documents.length === 0)
      throw new InvalidRequestError('`files` must hold a domain document: policy tests alone change nothing');
    const answer = await withStore(job, (store) => answerTo(store, folder, job));
    return { kind: 'json', json: Buffer.from(JSON.stringify(answer)) };
  } catch (error) {
    const failure = plainFailure(error);
    if (failure === undefined) throw error;
    return { kind: 'failed', failure };
  }
}

async function answerTo(store: Store, folder: DocumentFolder, { plan, options, context, now }: DocumentsJob) {
  if (plan === undefined) return listedPlan(await planDocuments(store, folder, now, options));
  const { warnings, ...applied } = await applyDocuments(store, folder, context, { ...options, now, plan });
  const { epoch, counter } = await store.state();
  return { ...applied, warnings: warnings.slice(0, maxListedProblems), change: [epoch, counter] };
}

async function withStore<Result>(
  { kind, place, now }: DocumentsJob,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  // The time of the server that was asked: the two processes have one clock.
  const store = await openStore(place, kind === 'plan' ? { readonly: true } : { clock: { now: () => now } });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
