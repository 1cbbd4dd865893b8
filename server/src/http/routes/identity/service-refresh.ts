import type { RouterMiddleware } from '@koa/router';
import { parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { InvalidRequestError } from '../../../errors.ts';
import { expiryTimeSchema, parseBody } from '../../../instances/instance-request.ts';
import { refreshService } from '../../../instances/refresh-service.ts';
import { bodyJson } from '../../body.ts';
import { type RequestState, requireCaller } from '../../context.ts';
import { answerOnce } from '../../plain-answer.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

/** Body of the request. */
export const requestSchema = z.object({
  csr: z.string().max(65_536).nullish(),
  expiryTime: expiryTimeSchema,
  keyId: z.string().nullish(),
});

/** `POST /instance/{domain}/{service}/refresh` */
export function refreshServiceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { principalToken, address } = ctx.state;
    const { keyId: by } = principalToken ?? {};
    // The server's own signature does not prove that the caller holds a key.
    const isByKey = principalToken !== undefined && by !== undefined;
    const caller = isByKey ? { ...principalToken, keyId: by, address } : requireCaller(ctx);
    const domain = parseDomainName(ctx.params['domain'], 'domain');
    const service = parseServiceName(ctx.params['service'], 'service');
    const { csr, expiryTime, keyId } = parseBody(requestSchema, bodyJson(ctx));
    if (typeof csr !== 'string' || csr === '') throw new InvalidRequestError('`csr` is required');
    const requestedSeconds = (expiryTime ?? 0) * deps.expiryTimeSeconds;
    const key = typeof keyId === 'string' && keyId !== '' ? parseKeyId(keyId, 'keyId') : undefined;
    const asked = { domain, service, csr, requestedSeconds, keyId: key };
    answerOnce(ctx, JSON.stringify(await refreshService(deps.instances, caller, asked)));
  };
}
