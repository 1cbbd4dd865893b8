import type { PrincipalName } from '@signet/policy-engine/names';
import type { StorePlace } from '../config/store-place.ts';
import { RelayedError, ServiceUnavailableError, TooLargeError, TooManyRequestsError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { ownProgram } from '../own-files.ts';
import { laneOf } from '../turns/lane-of.ts';
import { createWorkProcess, JobError } from '../work-process/work-process.ts';
import type { ImpactAnswer, ImpactQuestion } from './find-impact.ts';
import { OneAtATime } from './one-at-a-time.ts';
import type { DocumentsAnswer, DocumentsJob } from './plan-job.ts';
import type { RequestAnswer, RequestJob } from './requests/request-job.ts';

/** Dry runs, plans and applies: one at a time for each principal, found in a process beside the request loop. */
export interface DryRuns {
  /** Throws `TooManyRequestsError` while an earlier dry run of the principal runs, and what `work` throws. */
  run<Result>(caller: PrincipalName, work: () => Promise<Result>): Promise<Result>;
  /**
   * Finds an impact; domains of callers take turns, and it ends when the caller stops waiting. Throws `ServiceUnavailableError`, and
   * `TooManyRequestsError` when too many of the caller's domain wait.
   */
  findImpact(question: ImpactQuestion, signal?: AbortSignal): Promise<ImpactAnswer>;
  /**
   * Plans or applies documents, and answers the JSON of the response. Throws `RelayedError`, `TooLargeError` for documents that take too much,
   * `TooManyRequestsError` and `ServiceUnavailableError`.
   */
  runDocuments(job: Omit<DocumentsJob, 'place'>, signal?: AbortSignal): Promise<Uint8Array>;
  /** Does what is asked of a change request. Throws as `runDocuments`. */
  runRequest(
    job: Omit<RequestJob, 'place'>,
    signal?: AbortSignal,
  ): Promise<Exclude<RequestAnswer, { readonly kind: 'failed' }>>;
  close(): Promise<void>;
}

export interface ImpactJob {
  readonly kind: 'impact';
  readonly place: StorePlace;
  readonly question: ImpactQuestion;
}

/** The process stays for those who try one change after the other, in milliseconds. */
const idleMs = 30_000;
/** The work is counted: this is for a machine that has stopped. */
const maxJobMs = 120_000;
const maxHeapMiB = 640;
/** Maximum of dry runs that wait for the process. */
const maxWaiting = 16;
/** Nor do more of one domain's principals: another domain finds a place, however many principals this one has. */
const maxWaitingOfDomain = 4;

/** Soon: a dry run takes seconds at most, nearly always. */
const retryAfterSeconds = 2;

export function openDryRuns({ place, logger }: { readonly place: StorePlace; readonly logger: Logger }): DryRuns {
  const helper = createWorkProcess({
    module: ownProgram('impact-process'),
    idleMs,
    maxJobMs,
    maxHeapMiB,
    maxWaiting,
    maxWaitingOfLane: maxWaitingOfDomain,
  });
  const callers = new OneAtATime('dry run, plan or apply');
  return {
    run: (caller, work) => callers.run(caller, work),
    findImpact: async (question, signal) => {
      try {
        const job: ImpactJob = { kind: 'impact', place, question };
        // Our own module answers.
        return (await helper.run(job, laneOf(question.caller), signal)) as ImpactAnswer;
      } catch (error) {
        return answerTo(error, question, logger);
      }
    },
    runDocuments: async (job, signal) => {
      const { caller } = job.options.author;
      try {
        const answer = (await helper.run({ ...job, place }, laneOf(caller), signal)) as DocumentsAnswer;
        if (answer.kind === 'json') return answer.json;
        throw new RelayedError(answer.failure);
      } catch (error) {
        throw error instanceof RelayedError ? error : documentsFailure(error, { caller, kind: job.kind }, logger);
      }
    },
    runRequest: async (job, signal) => {
      const { caller } = job.by;
      try {
        const answer = (await helper.run({ ...job, place }, laneOf(caller), signal)) as RequestAnswer;
        if (answer.kind === 'answer') return answer;
        throw new RelayedError(answer.failure);
      } catch (error) {
        throw error instanceof RelayedError ? error : documentsFailure(error, { caller, kind: job.task.kind }, logger);
      }
    },
    close: () => helper.close(),
  };
}

/** Reason why the process has no answer. Throws where the caller or its domain asks too much. */
function reasonOf(error: unknown, caller: PrincipalName): JobError['reason'] | 'failed' {
  const reason = error instanceof JobError ? error.reason : 'failed';
  if (reason === 'cancelled') throw new ServiceUnavailableError('the connection was closed');
  if (reason === 'share') {
    throw new TooManyRequestsError(
      `${maxWaitingOfDomain} dry runs of \`${laneOf(caller)}\` wait already: send the request again`,
      { retryAfterSeconds },
    );
  }
  return reason;
}

/** Answer where the process found nothing: an impact that is too large is an answer too. */
function answerTo(error: unknown, { caller, domain }: ImpactQuestion, logger: Logger): ImpactAnswer {
  const reason = reasonOf(error, caller);
  logger.warn({ caller, domain, reason, error: String(error) }, 'the impact of a dry run was not found');
  if (reason === 'aborted' || reason === 'time') {
    return { kind: 'found', changes: [], totals: { gains: 0, losses: 0, isExact: false }, more: false };
  }
  throw new ServiceUnavailableError('the impact of the change cannot be found now', { cause: error });
}

function documentsFailure(
  error: unknown,
  { caller, kind }: { readonly caller: PrincipalName; readonly kind: string },
  logger: Logger,
): Error {
  const reason = reasonOf(error, caller);
  logger.warn({ caller, job: kind, reason, error: String(error) }, 'documents were not planned or applied');
  if (reason === 'aborted' || reason === 'time') {
    return new TooLargeError(
      `the documents take more than ${maxHeapMiB} MiB or ${maxJobMs / 1000} s: send fewer domains (--domain), or run the command beside the store`,
    );
  }
  return new ServiceUnavailableError('documents cannot be processed now', { cause: error });
}
