import type { RouterMiddleware } from '@koa/router';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { costs } from '../../budgets/costs.ts';
import { notARole, parseCredentialsRequest } from '../../cloud/credentials-request.ts';
import { type GetCredentialsDeps, getCredentials } from '../../cloud/get-credentials.ts';
import { InvalidRequestError } from '../../errors.ts';
import { comparedFor } from '../compared-for.ts';
import { answerJson, type RequestState, requireIdentity } from '../context.ts';
import { parseParameters } from '../parameters.ts';

/** Dependencies of cloud credentials; undefined: this server issues none. */
export type CloudCredentialsDeps = GetCredentialsDeps | undefined;

/** `GET /domain/{domainName}/role/{roleName}/creds`: temporary credentials of a cloud role (docs/reference/cloud-credentials.md#who-may). */
export function cloudCredentialsRoute(deps: CloudCredentialsDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { name } = requireIdentity(ctx);
    const query = parseParameters(ctx.querystring, 'query');
    const request = parseCredentialsRequest(
      parseDomainName(ctx.params['domainName'], 'domainName'),
      decodeRoleName(ctx.params['roleName'] ?? ''),
      { durationSeconds: query.get('durationSeconds'), externalId: query.get('externalId') },
    );
    if (deps === undefined) throw new InvalidRequestError('cloud credentials are not configured on this server');
    const caller = { principal: name, certificate: ctx.state.certificate };
    // Cost of reading the certificate's revocation from the store.
    ctx.state.work += costs.read;
    const asked = () => {
      ctx.state.work += costs.cloudCall;
    };
    const spending = { asked, compared: comparedFor(ctx) };
    const { expiration, ...credentials } = await getCredentials(deps, caller, request, spending);
    answerJson(ctx, JSON.stringify({ ...credentials, expiration: formatTimestamp(expiration) }));
  };
}

/**
 * The router has decoded the segment once. No role name holds a `%`, so one that is left can only come from a client that
 * escapes the slashes of a path twice: it is decoded once more, and never a third time.
 */
function decodeRoleName(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new InvalidRequestError(notARole);
  }
}
