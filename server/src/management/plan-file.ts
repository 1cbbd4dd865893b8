import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InvalidRequestError, PreconditionFailedError } from '../errors.ts';
import type { StoreState } from '../model/store.ts';
import type { DocumentFolder } from './documents/read-folder.ts';

const planFileSchema = z.strictObject({
  format: z.literal('signet-plan-1'),
  epoch: z.int(),
  counter: z.int(),
  head: z.string(),
  documents: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Input of a plan: the state of the store, and a digest of the documents. */
type PlanFile = z.output<typeof planFileSchema>;

/** State of the store that a plan was made from. */
export type PlannedState = StoreState;

export function planFileOf(state: PlannedState, folder: DocumentFolder): PlanFile {
  const { epoch, counter, head } = state;
  return { format: 'signet-plan-1', epoch, counter, head, documents: digestOf(folder) };
}

/** Reads what `signet plan --out` wrote. Throws `InvalidRequestError`. */
export function parsePlanFile(text: string): PlanFile {
  try {
    return planFileSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new InvalidRequestError('the plan file is not one that `signet plan --out` wrote', { cause: error });
  }
}

/** The state that the store must still have. Throws `PreconditionFailedError` when the documents are not those of the plan. */
export function plannedState(plan: PlanFile, folder: DocumentFolder): PlannedState {
  if (plan.documents !== digestOf(folder)) throw new PreconditionFailedError('the documents changed since the plan');
  return { epoch: plan.epoch, counter: plan.counter, head: plan.head };
}

/** Digest of the content of documents and cases, independent of their layout. */
function digestOf({ documents, cases }: DocumentFolder): string {
  const sources = [...documents, ...cases].map(({ source }) => source.value);
  return createHash('sha256').update(JSON.stringify(sources)).digest('hex');
}
