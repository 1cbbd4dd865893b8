import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { StorePlace } from '../../config/store-place.ts';
import { InvalidRequestError, type PlainFailure, plainFailure } from '../../errors.ts';
import type { RequestContent } from '../../model/change-requests.ts';
import type { Store } from '../../model/store.ts';
import { jsonInSteps } from '../../steps/json-steps.ts';
import { openStore } from '../../store/open.ts';
import type { DocumentFlag } from '../document-refusals.ts';
import { entityTagInSteps } from '../judge-edit.ts';
import { readFiles } from '../plan-files.ts';
import { type Asked, askFor, type Mode } from './ask-for.ts';
import { approveRequest, type Deciding, seeRequest } from './decide.ts';
import type { Asking } from './prepare.ts';
import { requestView } from './request-view.ts';

/** Task about a change request for the work process: plain data. */
export type RequestTask =
  | {
      readonly kind: 'ask';
      readonly mode: Mode;
      readonly content: Exclude<RequestContent, { kind: 'documents' }> | DocumentsBody;
      readonly plan?: string;
      readonly conditions?: NonNullable<Asking['conditions']>;
      readonly requestMs: number;
    }
  | { readonly kind: 'see'; readonly id: number; readonly files: boolean; readonly withEffect: boolean }
  | { readonly kind: 'approve'; readonly id: number; readonly plan?: string; readonly comment?: string };

/** Documents as they were sent: the body of the request, unparsed. */
interface DocumentsBody {
  readonly kind: 'body';
  readonly body: string;
  readonly flags: readonly DocumentFlag[];
}

export interface RequestJob {
  readonly kind: 'request';
  readonly place: StorePlace;
  readonly by: Deciding;
  readonly task: RequestTask;
}

/** Answer of the process. */
export type RequestAnswer =
  | {
      readonly kind: 'answer';
      readonly status: 200 | 201 | 202 | 204;
      /** JSON; empty with 204. */
      readonly json: Uint8Array;
      /** Number of the request that was stored. */
      readonly stored?: number;
      /** Number of the record of a change that was made by break-glass. */
      readonly emergency?: number;
      readonly warnings?: readonly string[];
      /** Entity tag of an object. */
      readonly tag?: string;
    }
  | { readonly kind: 'failed'; readonly failure: PlainFailure };

/** Does the task. Failures that a caller may see are answered, others thrown. */
export async function runRequestJob({ place, by, task }: RequestJob): Promise<RequestAnswer> {
  try {
    // The time of the server that was asked: the two processes have one clock.
    const store = await openStore(place, task.kind === 'see' ? { readonly: true } : { clock: { now: () => by.now } });
    try {
      return await answerTo(store, by, task);
    } finally {
      await store.close();
    }
  } catch (error) {
    const failure = plainFailure(error);
    if (failure === undefined) throw error;
    return { kind: 'failed', failure };
  }
}

async function answerTo(store: Store, by: Deciding, task: RequestTask): Promise<RequestAnswer> {
  const { now } = by;
  if (task.kind === 'see') {
    const seen = await seeRequest(store, task.id, by, task.withEffect);
    return await answered(200, requestView(seen, { now, files: task.files }));
  }
  if (task.kind === 'approve') {
    const request = await approveRequest(store, task.id, by, task);
    return await answered(200, requestView({ request }, { now }));
  }
  const { caller, certificate, issuedByOperators: _, ...asking } = by;
  const author = { caller, ...(certificate !== undefined && { certificate }) };
  const { kind: __, conditions, ...options } = task;
  const content = contentOf(task.content);
  const asked = await askFor(
    store,
    { ...asking, author, ...(conditions !== undefined && { conditions }) },
    { ...options, content },
  );
  return asked.kind === 'stored' ? await stored(asked, now) : await made(asked, await store.state());
}

function contentOf(content: Extract<RequestTask, { kind: 'ask' }>['content']): RequestContent {
  if (content.kind !== 'body') return content;
  const files = readFiles(content.body);
  if (files.every(({ name }) => /\.cases\.ya?ml$/.test(name))) {
    throw new InvalidRequestError('`files` must hold a domain document: policy tests alone change nothing');
  }
  return { kind: 'documents', files, flags: content.flags };
}

async function stored({ request }: Extract<Asked, { kind: 'stored' }>, now: number): Promise<RequestAnswer> {
  const { id, state, content } = request;
  const created = content.kind === 'role' ? 201 : 202;
  return { ...(await answered(state === 'open' ? created : 200, requestView({ request }, { now }))), stored: id };
}

async function made(
  { made: what, request }: Extract<Asked, { kind: 'made' }>,
  { epoch, counter }: Awaited<ReturnType<Store['state']>>,
): Promise<RequestAnswer> {
  const emergency = request !== undefined && { emergency: request.id };
  if ('domains' in what) return { ...(await answered(200, { ...what, change: [epoch, counter] })), ...emergency };
  const { view, created, warnings } = what;
  if (view === undefined) return { kind: 'answer', status: 204, json: new Uint8Array(), warnings, ...emergency };
  const answer = await answered(created ? 201 : 200, view);
  const tag = await runInSlices(entityTagInSteps(answer.json.toString()));
  return { ...answer, tag, warnings, ...emergency };
}

async function answered(status: 200 | 201 | 202, value: unknown) {
  return { kind: 'answer', status, json: Buffer.from(await runInSlices(jsonInSteps(value))) } as const;
}
