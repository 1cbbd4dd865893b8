import type { RouterMiddleware } from '@koa/router';
import type { Jwk, JwkList } from '@signet/policy-engine/wire';
import { InvalidRequestError } from '../../errors.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import { answerJson, type RequestState } from '../context.ts';
import { parseParameters } from '../parameters.ts';

export interface PublicKeysDeps {
  readonly keys: SigningKeys;
  /** How long a cache may keep the answer, in seconds. */
  readonly maxAgeSeconds: number;
}

/** `GET /oauth2/keys`: the keys that verify what this server signs; curve names of the JWK RFC with `rfc=true` (docs/reference/tokens.md#keys). */
export function publicKeysRoute(deps: PublicKeysDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const rfc = parseParameters(ctx.querystring, 'query').get('rfc') ?? 'false';
    if (rfc !== 'true' && rfc !== 'false') throw new InvalidRequestError('rfc must be `true` or `false`');
    const { published } = deps.keys.current();
    const list: JwkList = { keys: rfc === 'true' ? [...published] : published.map(withOldCurveName) };
    ctx.set('Cache-Control', `max-age=${deps.maxAgeSeconds}`);
    answerJson(ctx, JSON.stringify(list));
  };
}

function withOldCurveName(key: Jwk): Jwk {
  return key.crv === 'P-256' ? { ...key, crv: 'prime256v1' } : key;
}
