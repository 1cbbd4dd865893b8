import type { RouterMiddleware } from '@koa/router';
import { createRegisterToken } from '../../../instances/create-register-token.ts';
import { deleteInstance } from '../../../instances/delete-instance.ts';
import { parseRefreshInformation } from '../../../instances/instance-request.ts';
import { refreshInstance } from '../../../instances/refresh-instance.ts';
import { bodyJson } from '../../body.ts';
import { answerJson, type RequestState, requireCaller, requireIdentity } from '../../context.ts';
import { type IdentityRouteDeps, instanceKeyOf } from './identity-deps.ts';

/** `POST /instance/{provider}/{domain}/{service}/{instanceId}` */
export function refreshInstanceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const caller = requireCaller(ctx);
    const key = instanceKeyOf(ctx);
    const information = parseRefreshInformation(bodyJson(ctx), deps.expiryTimeSeconds);
    answerJson(ctx, JSON.stringify(await refreshInstance(deps.instances, caller, key, information)));
  };
}

/** `DELETE /instance/{provider}/{domain}/{service}/{instanceId}` */
export function deleteInstanceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { name: actor } = requireIdentity(ctx);
    const { certificate, requestId } = ctx.state;
    const serial = certificate && { certificateSerial: certificate.serial };
    await deleteInstance(deps.instances, actor, instanceKeyOf(ctx), { actor, requestId, ...serial });
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
