import type { RouterMiddleware } from '@koa/router';
import { NotFoundError } from '../../../errors.ts';
import type { IssuerSet } from '../../../x509/issuers.ts';
import { answerJson, type RequestState, requirePrincipal } from '../../context.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

function bundle(set: IssuerSet, name: unknown): string | undefined {
  const issuers = [...new Set([...set.active, ...set.draining].map(({ chainPem }) => chainPem))].join('');
  switch (name) {
    case 'roots':
      return set.rootsPem;
    case 'issuers':
      return issuers;
    case 'chain':
      return issuers + set.rootsPem;
    default:
      return undefined;
  }
}

/** `GET /cacerts/{name}`: `roots` to trust, the `issuers` below them, or both as `chain`. */
export function authorityCertificatesRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const name = ctx.params['name'];
    const certs = bundle(deps.instances.issuers.current(), name);
    if (certs === undefined) throw new NotFoundError('there is no such bundle');
    answerJson(ctx, JSON.stringify({ name, certs }));
  };
}

/** `GET /crl` and `GET /crl/{issuer}`: the revocation list of the first active issuer, or of one by its id; PEM. */
export function revocationListRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requirePrincipal(ctx);
    const list = await deps.crls.current(ctx.params['issuer']);
    ctx.res.setHeader('Content-Type', 'application/x-pem-file');
    ctx.body = list.pem;
  };
}
