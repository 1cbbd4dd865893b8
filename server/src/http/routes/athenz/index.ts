import { randomBytes } from 'node:crypto';
import type Router from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import { type Addresses, hostOf } from '../../../config/config.ts';
import { InvalidRequestError } from '../../../errors.ts';
import { readForm } from '../../body.ts';
import { answerJson, type RequestState, requirePrincipal } from '../../context.ts';
import type { RouteDeps } from '../route-deps.ts';
import { signedPolicyDataRoute } from '../signed-policy-data-route.ts';
import {
  certificateRolesRoute,
  hostServicesRoute,
  serviceListRoute,
  serviceRoute,
  tenantDomainsRoute,
} from './directory-routes.ts';
import { idTokenRoute, roleTokenRoute } from './token-routes.ts';

/** The operations that only the profile `athenz` has (docs/reference/athenz.md). */
export function mountAthenzRoutes(router: Router<RequestState>, deps: RouteDeps): void {
  const { config, addresses, tokens, access, bundles, identity } = deps;
  const base = addresses.basePath;
  const host = hostOf(addresses.baseUrl);
  const newSalt = () => randomBytes(8).toString('hex');
  router.get(`${base}/domain/:domainName/token`, roleTokenRoute({ ...tokens, host, newSalt }));
  router.get(`${base}/oauth2/auth`, idTokenRoute({ ...tokens, suffixes: config.certificates.dnsSuffixes }));
  router.post(`${base}/oauth2/introspect`, readForm(config.limits.bodyBytes), introspectRoute);
  router.get(`${base}/domain/:domainName/signed_policy_data`, signedPolicyDataRoute(bundles));
  router.get(`${base}/domain/:domainName/service`, serviceListRoute(access));
  router.get(`${base}/domain/:domainName/service/:serviceName`, serviceRoute(access));
  router.get(`${base}/host/:host/services`, hostServicesRoute(access));
  router.get(`${base}/providerdomain/:provider/user/:user`, tenantDomainsRoute(access));
  router.get(`${base}/role/cert`, certificateRolesRoute);
  router.get(`${base}/status`, statusRoute);
  if (identity !== undefined) {
    const roots = () => identity.instances.issuers.current().rootsPem;
    router.get(`${base}/cacerts/athenz`, rootsRoute(roots));
  }
}

/** Metadata that clients of Athenz require in addition. */
export function athenzMetadata({ baseUrl }: Addresses): Readonly<Record<string, unknown>> {
  return {
    authorization_endpoint: `${baseUrl}/oauth2/auth`,
    introspection_endpoint: `${baseUrl}/oauth2/introspect`,
    response_types_supported: ['id_token', 'token', 'id_token token'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256'],
  };
}

/** `GET /status`: that the server answers, to everybody. */
const statusRoute: RouterMiddleware<RequestState> = (ctx) => {
  answerJson(ctx, JSON.stringify({ code: 200, message: 'OK' }));
};

/** `POST /oauth2/introspect`: as a server of Athenz answers that was not set up for it; clients look for the endpoint in the metadata. */
const introspectRoute: RouterMiddleware<RequestState> = (ctx) => {
  requirePrincipal(ctx);
  throw new InvalidRequestError('introspection is not supported');
};

/** `GET /cacerts/athenz`: the roots under the name that agents ask for. */
function rootsRoute(roots: () => string): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    answerJson(ctx, JSON.stringify({ name: 'athenz', certs: roots() }));
  };
}
