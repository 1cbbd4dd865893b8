import type { RouterMiddleware } from '@koa/router';
import { parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { NotFoundError } from '../../errors.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { answerJson, type RequestState, requirePrincipal } from '../context.ts';
import { existingDomain } from './access-route.ts';

/** Base64 in the alphabet of principal tokens, padding kept: `.` for `+`, `_` for `/`, `-` for `=`. */
function serviceBase64(text: string): string {
  const letters = new Map([
    ['+', '.'],
    ['/', '_'],
    ['=', '-'],
  ]);
  return Buffer.from(text)
    .toString('base64')
    .replaceAll(/[+/=]/g, (letter) => letters.get(letter) ?? letter);
}

/** `GET /domain/{domainName}/service/{serviceName}/publickey/{keyId}`: one registered key, its PEM encoded as principal tokens are. */
export function servicePublicKeyRoute(deps: { readonly snapshot: () => Snapshot }): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const domain = parseDomainName(ctx.params['domainName'], 'domainName');
    const service = parseServiceName(ctx.params['serviceName'], 'serviceName');
    const id = parseKeyId(ctx.params['keyId'], 'keyId');
    const pem = existingDomain(deps.snapshot(), domain).services.get(service)?.publicKeys.get(id);
    if (pem === undefined) throw new NotFoundError('there is no such service or key');
    answerJson(ctx, JSON.stringify({ key: serviceBase64(pem), id }));
  };
}
