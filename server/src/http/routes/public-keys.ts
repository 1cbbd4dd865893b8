import type { RouterMiddleware } from '@koa/router';
import type { Jwk, JwkList } from '@signet/policy-engine/wire';
import { InvalidRequestError } from '../../errors.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import { answerCached } from '../cached-answer.ts';
import type { RequestState, RouteContext } from '../context.ts';
import { parseParameters } from '../parameters.ts';

interface PublicKeysDeps {
  readonly keys: SigningKeys;
  /** Maximum cache lifetime of the answer, in seconds. */
  readonly maxAgeSeconds: number;
}

/** `GET /oauth2/keys`: the keys that verify what this server signs; curve names of the JWK RFC with `rfc=true` (docs/reference/tokens.md#keys). */
export function publicKeysRoute(deps: PublicKeysDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const rfc = parseParameters(ctx.querystring, 'query').get('rfc') ?? 'false';
    if (rfc !== 'true' && rfc !== 'false') throw new InvalidRequestError('rfc must be `true` or `false`');
    answerKeys(ctx, deps, rfc === 'true' ? (key) => key : withOldCurveName);
  };
}

/** `GET /.well-known/jwks.json`: the same with the names of the JWK RFC. */
export function jwksRoute(deps: PublicKeysDeps): RouterMiddleware<RequestState> {
  return (ctx) => answerKeys(ctx, deps, (key) => key);
}

function answerKeys(ctx: RouteContext, { keys, maxAgeSeconds }: PublicKeysDeps, form: (key: Jwk) => Jwk): void {
  const list: JwkList = { keys: keys.current().published.map(form) };
  answerCached(ctx, JSON.stringify(list), maxAgeSeconds);
}

function withOldCurveName(key: Jwk): Jwk {
  return key.crv === 'P-256' ? { ...key, crv: 'prime256v1' } : key;
}
