import type { RouterMiddleware } from '@koa/router';
import { parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ForbiddenError, InvalidRequestError } from '../../../errors.ts';
import { expiryTimeSchema, parseBody } from '../../../instances/instance-request.ts';
import { altNamesOf, readCertificate } from '../../../x509/certificate-reader.ts';
import type { SignedCertificate } from '../../../x509/issue-certificate.ts';
import { issueRoleCertificate, type RoleCertificateInput } from '../../../x509/issue-role-certificate.ts';
import { bodyJson } from '../../body.ts';
import { comparedFor } from '../../compared-for.ts';
import { answerJson, type RequestState, type RouteContext, requireIdentity } from '../../context.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

/** Body of the request. */
export const requestSchema = z.object({
  csr: z.string().max(65_536).nullish(),
  expiryTime: expiryTimeSchema,
  proxyForPrincipal: z.string().nullish(),
});

async function issue(
  deps: IdentityRouteDeps,
  ctx: RouteContext,
  role?: RoleCertificateInput['role'],
): Promise<SignedCertificate> {
  const { name } = requireIdentity(ctx);
  const { csr, expiryTime, proxyForPrincipal } = parseBody(requestSchema, bodyJson(ctx));
  if (typeof csr !== 'string' || csr === '') throw new InvalidRequestError('`csr` is required');
  if (typeof proxyForPrincipal === 'string' && proxyForPrincipal !== '') {
    throw new ForbiddenError('role certificates are given to their holder only');
  }
  const requestedSeconds = (expiryTime ?? 0) * deps.expiryTimeSeconds;
  const { certificate } = ctx.state;
  const held = certificate === undefined ? [] : altNamesOf(readCertificate(certificate.der));
  const heldDnsNames = new Set(held.flatMap(({ kind, value }) => (kind === 'dns' ? [value] : [])));
  const { address } = ctx.state;
  const compared = comparedFor(ctx);
  const asked = { csr, role, requestedSeconds, heldDnsNames, address, presented: certificate, compared };
  return issueRoleCertificate(deps.roles, name, asked);
}

/** `POST /domain/{domainName}/role/{roleName}/token` */
export function roleTokenRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requireIdentity(ctx);
    const domain = parseDomainName(ctx.params['domainName'], 'domainName');
    const name = parseRoleName(ctx.params['roleName'], 'roleName');
    const signed = await issue(deps, ctx, { domain, name });
    answerJson(ctx, JSON.stringify({ token: `${signed.pem}${signed.chainPem}`, expiryTime: signed.notAfter }));
  };
}

/** `POST /rolecert` */
export function roleCertificateRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const signed = await issue(deps, ctx);
    answerJson(ctx, JSON.stringify({ x509Certificate: `${signed.pem}${signed.chainPem}` }));
  };
}
