import type { RouterMiddleware } from '@koa/router';
import { createRegisterToken } from '../../../instances/create-register-token.ts';
import { deleteInstance } from '../../../instances/delete-instance.ts';
import { parseRefreshInformation } from '../../../instances/instance-request.ts';
import { refreshInstance } from '../../../instances/refresh-instance.ts';
import { bodyJson } from '../../body.ts';
import { answerJson, type RequestState, requireCaller, requireIdentity } from '../../context.ts';
import { answerOnce } from '../../plain-answer.ts';
import { type IdentityRouteDeps, instanceKeyOf } from './identity-deps.ts';

/** `POST /instance/{provider}/{domain}/{service}/{instanceId}` */
export function refreshInstanceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const caller = requireCaller(ctx);
    const key = instanceKeyOf(ctx);
    const body = bodyJson(ctx);
    const information = parseRefreshInformation(body, deps.expiryTimeSeconds);
    const beside = deps.beside(body);
    const identity = await refreshInstance(deps.instances, caller, key, information);
    const { serial, notAfter } = caller.certificate;
    const presented = { serial, notAfter: Math.floor(notAfter / 1000) };
    const { address } = caller;
    answerOnce(ctx, JSON.stringify({ ...identity, ...beside({ identity, ...key, address, presented }) }));
  };
}

/** `DELETE /instance/{provider}/{domain}/{service}/{instanceId}` */
export function deleteInstanceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { name: actor } = requireIdentity(ctx);
    const { certificate, requestId } = ctx.state;
    const serial = certificate && { certificateSerial: certificate.serial };
    const asker = { principal: actor, certificate };
    await deleteInstance(deps.instances, asker, instanceKeyOf(ctx), { actor, requestId, ...serial });
    ctx.status = 204;
  };
}

/** `GET /instance/{provider}/{domain}/{service}/{instanceId}/token` */
export function registerTokenRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const caller = { principal: requireIdentity(ctx).name, certificate: ctx.state.certificate };
    answerJson(ctx, JSON.stringify(await createRegisterToken(deps.registerTokens, caller, instanceKeyOf(ctx))));
  };
}
