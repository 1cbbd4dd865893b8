import type { RouterMiddleware } from '@koa/router';
import { costs } from '../../budgets/costs.ts';
import { InvalidRequestError } from '../../errors.ts';
import { type IssueTokensDeps, issueTokens } from '../../oauth/issue-tokens.ts';
import { parseTokenRequest } from '../../oauth/token-request.ts';
import { bodyText } from '../body.ts';
import { answerJson, type RequestState, requirePrincipal } from '../context.ts';
import { parseParameters } from '../parameters.ts';

/** `POST /oauth2/token`: access token, and ID token when the scope asks for one (RFC 6749 §4.4). */
export function accessTokenRoute(deps: IssueTokensDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const principal = requirePrincipal(ctx);
    if (/^basic(\s|$)/i.test(ctx.req.headers.authorization ?? '')) {
      throw new InvalidRequestError('an Authorization header is not accepted beside the client certificate');
    }
    const request = parseTokenRequest(parseParameters(bodyText(ctx), 'body'));
    const tokens = issueTokens(deps, principal, request);
    // The access token is paid for with the path.
    if (tokens.id_token !== undefined) ctx.state.work += costs.signature;
    answerJson(ctx, JSON.stringify(tokens));
  };
}
