import { principalTokenHeaders } from '@signet/client';
import type { RequiredAccess } from '@signet/policy-engine/http';
import type { Middleware } from 'koa';
import { AccessRefusedError } from '../http-error.ts';
import { type AskServer, requireGrant } from './ask-server.ts';

/**
 * The centralized pattern with a principal token: the caller sends a token that it signed with its own key, in
 * `Svc-Principal-Auth` or `Athenz-Principal-Auth`, and the token server, asked with it, says whether its bearer may do this. Slow (a request for a request): for control planes.
 */
export function centralToken(deps: { ask: AskServer }): (required: RequiredAccess) => Middleware {
  return (required) => async (ctx, next) => {
    ctx.vary([...principalTokenHeaders]);
    const [principalToken, ...others] = principalTokenHeaders.flatMap((name) => ctx.req.headersDistinct[name] ?? []);
    if (principalToken === undefined || principalToken === '' || others.length > 0) {
      throw new AccessRefusedError({ reason: 'no principal token', message: 'one principal token is required' });
    }
    await requireGrant(deps.ask, { ...required, principalToken });
    await next();
  };
}
