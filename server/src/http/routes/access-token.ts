import type { IncomingHttpHeaders } from 'node:http';
import type { RouterMiddleware } from '@koa/router';
import { costs } from '../../budgets/costs.ts';
import { InvalidRequestError, WrongClientError } from '../../errors.ts';
import { type IssueTokensDeps, issueTokens } from '../../oauth/issue-tokens.ts';
import { knownRequests } from '../../oauth/known-requests.ts';
import { refuseWithoutEffect, type TokenRequestRules } from '../../oauth/request-rules.ts';
import { parseTokenRequest } from '../../oauth/token-request.ts';
import type { Principal } from '../../principals/principal.ts';
import { bodyText } from '../body.ts';
import { comparedFor } from '../compared-for.ts';
import { type RequestState, requirePrincipal } from '../context.ts';
import { parseParameters } from '../parameters.ts';
import { answerPlainJson } from '../plain-answer.ts';

/** `POST /oauth2/token`: access token, and ID token when the scope asks for one (RFC 6749 §4.4). */
export function accessTokenRoute(deps: IssueTokensDeps, rules: TokenRequestRules): RouterMiddleware<RequestState> {
  const read = knownRequests((form) => parseTokenRequest(parseParameters(form, 'body'), rules));
  return (ctx) => {
    const principal = requirePrincipal(ctx);
    checkBasic(ctx.req.headers.authorization, principal);
    refuseProof(ctx.req.headers);
    // RFC 6749 §3.2: parameters stand in the body. One that would narrow the token is not passed over wherever it stands.
    if (ctx.querystring !== '') refuseWithoutEffect(new URLSearchParams(ctx.querystring));
    const request = read(bodyText(ctx));
    const { tokens, given } = issueTokens(deps, principal, request, comparedFor(ctx));
    ctx.state.logDetail = given;
    // The access token is paid for with the path.
    if (tokens.id_token !== undefined) ctx.state.work += costs.signature;
    answerPlainJson(ctx, JSON.stringify(tokens), 'pragma', 'no-cache');
  };
}

/** RFC 9449: a token requested with a proof would be bound to its key. Throws `InvalidRequestError`. */
export function refuseProof({ dpop }: IncomingHttpHeaders): void {
  if (dpop === undefined) return;
  throw new InvalidRequestError('`DPoP` is not supported: tokens are bound to the client certificate');
}

/**
 * Clients without a secret may send their name and an empty one (RFC 6749 §2.3.1), as several libraries do of their own accord. Throws
 * `InvalidRequestError` for anything else, which would be a second authentication (§2.3), and `WrongClientError` for another name.
 */
function checkBasic(header: string | undefined, { name }: Principal): void {
  if (header === undefined || !/^basic(\s|$)/i.test(header)) return;
  const credentials = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] ?? '';
  const [, client, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('latin1')) ?? [];
  if (client === undefined || secret !== '') {
    throw new InvalidRequestError('an Authorization header is not accepted beside the client certificate');
  }
  // Names of principals are the same with and without the form encoding that comes before Base64.
  if (client.toLowerCase() !== name) {
    throw new WrongClientError('the Authorization header does not name the principal of the client certificate');
  }
}
