import type { Middleware } from 'koa';
import type { CertificateReader } from '../client-certificate.ts';
import { AccessRefusedError } from '../http-error.ts';
import { type AskServer, requireGrant } from './ask-server.ts';
import type { Need } from './need.ts';

/**
 * The centralized pattern with a certificate: the caller sends nothing but its certificate, and the token server is asked about the
 * service that its subject names. Role certificates name no service and are refused.
 */
export function centralCertificate(deps: {
  ask: AskServer;
  certificateOf: CertificateReader;
}): (need: Need) => Middleware {
  return (need) => async (ctx, next) => {
    const principal = deps.certificateOf(ctx.req)?.principal;
    if (principal === undefined) {
      throw new AccessRefusedError({ reason: 'no certificate', message: 'a service certificate is required' });
    }
    await requireGrant(deps.ask, { ...need, principal });
    await next();
  };
}
