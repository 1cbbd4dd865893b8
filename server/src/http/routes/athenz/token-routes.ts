import type { RouterMiddleware } from '@koa/router';
import { costs } from '../../../budgets/costs.ts';
import { parseIdTokenRequest } from '../../../oauth/id-token-request.ts';
import { type IdTokenDeps, issueIdToken } from '../../../oauth/issue-id-token.ts';
import { issueRoleToken, parseRoleTokenRequest, type RoleTokenDeps } from '../../../oauth/role-token.ts';
import { comparedFor } from '../../compared-for.ts';
import { answerJson, type RequestState, requirePrincipal } from '../../context.ts';
import { parseParameters } from '../../parameters.ts';
import { refuseProof } from '../access-token.ts';

/** `GET /domain/{domainName}/token`: a role token. */
export function roleTokenRoute(deps: RoleTokenDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const principal = requirePrincipal(ctx);
    refuseProof(ctx.req.headers);
    const request = parseRoleTokenRequest(ctx.params['domainName'], parseParameters(ctx.querystring, 'query'));
    ctx.state.work += costs.signature;
    answerJson(ctx, JSON.stringify(issueRoleToken(deps, principal, request, comparedFor(ctx))));
  };
}

/** `GET /oauth2/auth`: an ID token alone, as JSON or on the way to the service that it is for. */
export function idTokenRoute(deps: IdTokenDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const principal = requirePrincipal(ctx);
    refuseProof(ctx.req.headers);
    const request = parseIdTokenRequest(parseParameters(ctx.querystring, 'query'));
    ctx.state.work += costs.signature;
    const { idToken, expires } = issueIdToken(deps, principal, request, comparedFor(ctx));
    const { uri = '', state } = request.redirect;
    if (request.asJson) {
      answerJson(ctx, JSON.stringify(answer(idToken, expires)));
      return;
    }
    const fragment = new URLSearchParams({ id_token: idToken, ...(state !== undefined && { state }) });
    ctx.status = 302;
    ctx.set('Location', `${uri}#${fragment}`);
    ctx.body = '';
  };
}

function answer(idToken: string, expires: number) {
  return {
    version: 1,
    id_token: idToken,
    token_type: 'urn:ietf:params:oauth:token-type:id_token',
    success: true,
    expiration_time: expires,
  };
}
