import type Router from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import { readJson } from '../../body.ts';
import { type RequestState, requirePrincipal } from '../../context.ts';
import { authorityCertificatesRoute, type RevocationListDeps, revocationListRoute } from './authority-certificates.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';
import { deleteInstanceRoute, refreshInstanceRoute, registerTokenRoute } from './instance-routes.ts';
import { issueIdentityRoute } from './issue-identity.ts';
import { loginBytes, loginMetadataRoute, loginPath, loginRoute } from './login.ts';
import { registerInstanceRoute } from './register.ts';
import { roleCertificateRoute, roleTokenRoute } from './role-certificate.ts';
import { refreshServiceRoute } from './service-refresh.ts';

/** The operations on certificates: of instances, services and roles, of the authorities, and those revoked. */
export function mountIdentityRoutes(router: Router<RequestState>, deps: IdentityRouteDeps, bodyBytes: number): void {
  const base = deps.basePath;
  const body = readJson(bodyBytes);
  const instance = `${base}/instance/:provider/:domain/:service/:instanceId`;
  router.post(`${base}/instance`, body, registerInstanceRoute(deps));
  router.post(`${base}/instance/:domain/:service/refresh`, body, refreshServiceRoute(deps));
  router.post(instance, body, refreshInstanceRoute(deps));
  router.delete(instance, deleteInstanceRoute(deps));
  router.get(`${instance}/token`, registerTokenRoute(deps));
  router.post(`${base}/domain/:domainName/role/:roleName/token`, body, roleTokenRoute(deps));
  router.post(`${base}/rolecert`, body, roleCertificateRoute(deps));
  router.post(`${base}/principal/:principal/certificate`, body, issueIdentityRoute(deps));
  router.get(loginPath(base), loginMetadataRoute(deps));
  router.post(loginPath(base), readJson(loginBytes), loginRoute(deps));
  mountAuthorityRoutes(router, base, deps, (ctx, next) => {
    requirePrincipal(ctx);
    return next();
  });
}

/** Routes for any verifier of certificates: the authorities, and revocation lists. `guard` restricts the callers. */
export function mountAuthorityRoutes(
  router: Router<RequestState>,
  base: string,
  deps: RevocationListDeps & { readonly instances: Pick<IdentityRouteDeps['instances'], 'issuers'> },
  guard: RouterMiddleware<RequestState>,
): void {
  router.get(`${base}/cacerts/:name`, guard, authorityCertificatesRoute(deps.instances.issuers, deps.crlMaxAgeSeconds));
  router.get(`${base}/crl`, guard, revocationListRoute(deps));
  router.get(`${base}/crl/:issuer`, guard, revocationListRoute(deps));
}

/** Predicate: requests to a path carry certificate requests. */
export function carriesRequests(basePath: string): (path: string) => boolean {
  const grammar =
    /^\/(?:instance(?:\/|$)|rolecert$|sshcert$|domain\/[^/]+\/role\/[^/]+\/token$|principal\/[^/]+\/certificate$)/;
  return (path) => path.startsWith(basePath) && grammar.test(path.slice(basePath.length));
}
