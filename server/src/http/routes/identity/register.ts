import type { RouterMiddleware } from '@koa/router';
import { ForbiddenError } from '../../../errors.ts';
import { parseRegisterInformation } from '../../../instances/instance-request.ts';
import { registerInstance } from '../../../instances/register-instance.ts';
import { bodyJson } from '../../body.ts';
import { answerJson, type RequestState } from '../../context.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

/** `POST /instance`: what the instance attests is its credential; a certificate is only one more fact about it. */
export function registerInstanceRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { principal, address } = ctx.state;
    if (principal?.kind === 'role') throw new ForbiddenError('a role certificate is not a service identity');
    const body = bodyJson(ctx);
    const information = parseRegisterInformation(body, deps.expiryTimeSeconds);
    const beside = deps.beside(body);
    const registrant = { principal: principal?.name, address };
    const identity = await registerInstance(deps.instances, registrant, information);
    const path = [identity.provider, information.domain, information.service, identity.instanceId];
    ctx.set('Location', `${deps.basePath}/instance/${path.map(encodeURIComponent).join('/')}`);
    ctx.status = 201;
    const { domain, service } = information;
    answerJson(ctx, JSON.stringify({ ...identity, ...beside({ identity, domain, service, address }) }));
  };
}
