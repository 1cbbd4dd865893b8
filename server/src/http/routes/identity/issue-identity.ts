import type { RouterMiddleware } from '@koa/router';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { expiryTimeSchema, parseBody } from '../../../instances/instance-request.ts';
import { issueIdentity } from '../../../people/issue-identity.ts';
import { bodyJson } from '../../body.ts';
import { answerJson, type RequestState, requireCaller } from '../../context.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

/** Body of the request. */
export const requestSchema = z.strictObject({ csr: z.string().min(1).max(65_536), expiryTime: expiryTimeSchema });

/** `POST /principal/{principal}/certificate` */
export function issueIdentityRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    // INVARIANT: with its own certificate; no principal token speaks for an operator here.
    const caller = requireCaller(ctx);
    const principal = parsePrincipalName(ctx.params['principal']);
    const { csr, expiryTime } = parseBody(requestSchema, bodyJson(ctx));
    const requestedSeconds = (expiryTime ?? 0) * deps.expiryTimeSeconds;
    answerJson(ctx, JSON.stringify(await issueIdentity(deps.people, caller, { principal, csr, requestedSeconds })));
  };
}
