import type { RequiredAccess } from '@signet/policy-engine/http';
import { certificateThumbprint } from '@signet/policy-engine/token';
import type { Middleware } from 'koa';
import type { CertificateReader } from '../client-certificate.ts';
import { AccessRefusedError } from '../http-error.ts';
import { type AskServer, requireGrant } from './ask-server.ts';

/**
 * Centralized pattern with a certificate: the caller sends only its certificate, and the token server decides about the
 * service that its subject names. Role certificates name no service and are refused.
 */
export function centralCertificate(deps: {
  ask: AskServer;
  certificateOf: CertificateReader;
}): (required: RequiredAccess) => Middleware {
  return (required) => async (ctx, next) => {
    const caller = deps.certificateOf(ctx.req);
    const { principal, certificate } = caller;
    if (principal === undefined || certificate === undefined) {
      const message = 'problem' in caller ? caller.problem : 'a service certificate is required';
      throw new AccessRefusedError({ reason: 'no certificate', message });
    }
    await requireGrant(deps.ask, { ...required, principal, thumbprint: certificateThumbprint(certificate.raw) });
    await next();
  };
}
