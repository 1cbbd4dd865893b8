import type { RouterMiddleware } from '@koa/router';
import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import type { Access, ResourceError } from '@signet/policy-engine/wire';
import { z } from 'zod';
import { costs } from '../../budgets/costs.ts';
import { ForbiddenError, UnknownDomainError } from '../../errors.ts';
import { parseBody } from '../../instances/instance-request.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { bodyJson } from '../body.ts';
import { answerJson, type RequestState, type RouteContext, requirePrincipal } from '../context.ts';
import { errorAnswer, errorBody } from '../error-response.ts';
import { type AccessDeps, isGranted, parseQuestion } from './access-route.ts';

/** Maximum of queries in one request. */
const maxQuestions = 100;

const questionSchema = z.strictObject({
  action: z.string(),
  resource: z.string(),
  principal: z.string().exactOptional(),
  domain: z.string().exactOptional(),
  thumbprint: z.string().exactOptional(),
});

export const requestSchema = z.strictObject({ questions: z.array(questionSchema).min(1).max(maxQuestions) });

interface Answer extends Access {
  /** Error in place of an answer; it is not granted then. */
  readonly error?: ResourceError;
}

/**
 * `POST /access-checks`: many questions of `GET /access/{action}` at once, all on one snapshot; the answers in their order. A question
 * that is malformed refuses the request, one that has no answer is not granted and says why.
 */
export function accessChecksRoute(deps: AccessDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requirePrincipal(ctx);
    const { questions } = parseBody(requestSchema, bodyJson(ctx));
    const asked = questions.map((question, index) => parseQuestion(question, `questions[${index}].`));
    const snapshot = deps.snapshot();
    const pause = pauseBetweenSlices();
    const answers: Answer[] = [];
    for (const question of asked) {
      ctx.state.work += costs.viewDecision;
      answers.push(answerOf(deps, snapshot, ctx, question));
      await pause();
    }
    answerJson(ctx, JSON.stringify({ answers }));
  };
}

function answerOf(
  deps: AccessDeps,
  snapshot: Snapshot,
  ctx: RouteContext,
  question: ReturnType<typeof parseQuestion>,
): Answer {
  try {
    return { granted: isGranted(deps, snapshot, ctx, question) };
  } catch (error) {
    if (!(error instanceof UnknownDomainError) && !(error instanceof ForbiddenError)) throw error;
    return { granted: false, error: errorBody(errorAnswer(error), false) };
  }
}
