import type { IncomingMessage } from 'node:http';
import type { PolicyEngine } from '@signet/policy-engine';
import type { RequiredAccess } from '@signet/policy-engine/http';
import type { Status } from '@signet/policy-engine/policy';
import type { Middleware } from 'koa';
import type { CertificateReader } from '../client-certificate.ts';
import { AccessRefusedError } from '../http-error.ts';

/** Statuses that concern the token and not the policy: with a new token the request may succeed. */
const tokenFaults: ReadonlySet<Status> = new Set<Status>([
  'DENY_TOKEN_INVALID',
  'DENY_TOKEN_EXPIRED',
  'DENY_DOMAIN_MISMATCH',
  'DENY_CERT_HASH_MISMATCH',
]);

/**
 * The decentralized pattern: the caller sends an access token, and the policy engine decides in this process, from policy that the
 * updater brought. Works while the token server is down.
 *
 * The token comes in `Svc-Role-Auth`, `Athenz-Role-Auth` or `Authorization`; different values are refused. The engine gets the
 * certificate of the connection, because a token is good only with the certificate that asked for it.
 */
export function localEngine(deps: {
  engine: Pick<PolicyEngine, 'decide'>;
  certificateOf: CertificateReader;
}): (required: RequiredAccess) => Middleware {
  return ({ action, resource }) =>
    async (ctx, next) => {
      ctx.vary('Svc-Role-Auth, Athenz-Role-Auth, Authorization');
      const token = accessToken(ctx.req);
      const caller = deps.certificateOf(ctx.req);
      const { certificate } = caller;
      const decision = await deps.engine.decide({ token, action, resource, ...(certificate && { certificate }) });
      if (decision.status !== 'ALLOW') {
        const token = tokenFaults.has(decision.status) ? 'invalid_token' : 'insufficient_scope';
        const isWithout = decision.status === 'DENY_CERT_HASH_MISMATCH' && 'problem' in caller;
        const message = isWithout ? caller.problem : 'access is not granted';
        throw new AccessRefusedError({ reason: decision.status, message, token });
      }
      await next();
    };
}

/** The one token of a request, without the scheme word. Throws `AccessRefusedError` when there is none or more than one. */
function accessToken(request: IncomingMessage): string {
  const { headersDistinct } = request;
  const sent = ['svc-role-auth', 'athenz-role-auth', 'authorization'].flatMap((name) => headersDistinct[name] ?? []);
  const tokens = new Set(sent.map((value) => value.replace(/^bearer(?: +|$)/i, '').trim()));
  const [token = '', ...others] = tokens;
  if (others.length > 0) {
    throw new AccessRefusedError({
      reason: 'several tokens',
      message: 'more than one access token was sent',
      token: 'invalid_request',
    });
  }
  if (token === '' || hasOtherScheme(token)) {
    throw new AccessRefusedError({ reason: 'no token', message: 'an access token is required', token: 'missing' });
  }
  return token;
}

/** Credentials of another scheme, e.g. `Basic …`, are not a token. */
function hasOtherScheme(value: string): boolean {
  return /^[\w-]+ /.test(value);
}
