import type { PrincipalName } from '@signet/policy-engine/names';
import type { StorePlace } from '../config/store-place.ts';
import { ServiceUnavailableError, TooManyRequestsError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { ownProgram } from '../own-files.ts';
import { laneOf } from '../turns/lane-of.ts';
import { createWorkProcess, JobError } from '../work-process/work-process.ts';
import type { ImpactAnswer, ImpactQuestion } from './find-impact.ts';
import { OneAtATime } from './one-at-a-time.ts';

/** Dry runs: one at a time for each principal, and what they ask is found outside of the request loop. */
export interface DryRuns {
  /** Throws `TooManyRequestsError` while an earlier dry run of the principal runs, and what `work` throws. */
  run<Result>(caller: PrincipalName, work: () => Promise<Result>): Promise<Result>;
  /**
   * Finds an impact; domains of callers take turns, and it ends when the caller stops waiting. Throws `ServiceUnavailableError`, and
   * `TooManyRequestsError` when too many of the caller's domain wait.
   */
  findImpact(question: ImpactQuestion, signal?: AbortSignal): Promise<ImpactAnswer>;
  close(): Promise<void>;
}

export interface ImpactJob {
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
  const callers = new OneAtATime('dry run');
  return {
    run: (caller, work) => callers.run(caller, work),
    findImpact: async (question, signal) => {
      try {
        // Our own module answers.
        return (await helper.run(
          { place, question } satisfies ImpactJob,
          laneOf(question.caller),
          signal,
        )) as ImpactAnswer;
      } catch (error) {
        return answerTo(error, question, logger);
      }
    },
    close: () => helper.close(),
  };
}

/** Answer where the process found nothing: an impact that is too large is an answer too. */
function answerTo(error: unknown, { caller, domain }: ImpactQuestion, logger: Logger): ImpactAnswer {
  const reason = error instanceof JobError ? error.reason : 'failed';
  if (reason === 'cancelled') throw new ServiceUnavailableError('the connection was closed');
  if (reason === 'share') {
    throw new TooManyRequestsError(
      `${maxWaitingOfDomain} dry runs of \`${laneOf(caller)}\` wait already: send the request again`,
      {
        retryAfterSeconds,
      },
    );
  }
  logger.warn({ caller, domain, reason, error: String(error) }, 'the impact of a dry run was not found');
  if (reason === 'aborted' || reason === 'time') {
    return { kind: 'found', changes: [], totals: { gains: 0, losses: 0, isExact: false }, more: false };
  }
  throw new ServiceUnavailableError('the impact of the change cannot be found now', { cause: error });
}
