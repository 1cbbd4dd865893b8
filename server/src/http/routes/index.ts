import type Router from '@koa/router';
import type { Addresses, ServerConfig } from '../../config/config.ts';
import { requestRules } from '../../oauth/request-rules.ts';
import type { ProfileRules } from '../../profile.ts';
import { readForm, readJson } from '../body.ts';
import type { RequestState } from '../context.ts';
import { accessChecksRoute } from './access-checks-route.ts';
import { accessRoute, roleAccessRoute, roleCheckRoute } from './access-route.ts';
import { accessTokenRoute } from './access-token.ts';
import { athenzMetadata, mountAthenzRoutes } from './athenz/index.ts';
import { bundleDomainsRoute } from './bundle-domains.ts';
import { cloudCredentialsRoute } from './cloud-credentials.ts';
import { healthRoute, readinessRoute } from './health.ts';
import { mountIdentityRoutes } from './identity/index.ts';
import { metadataPaths, metadataRoute, serverMetadata } from './metadata.ts';
import { openApiPaths, openApiRoute } from './openapi.ts';
import { getPolicyBundleRoute, postPolicyBundleRoute } from './policy-bundle.ts';
import { healthPaths, probePaths, readinessPaths } from './probe-paths.ts';
import { jwksRoute, publicKeysRoute } from './public-keys.ts';
import type { RouteDeps } from './route-deps.ts';
import { servicePublicKeyRoute } from './service-public-key.ts';
import { sshCertificateRoute, sshRevocationsRoute, sshRevokeRoute } from './ssh-certificate.ts';

/** Routes of one profile that the other does not have. */
interface ProfileRoutes {
  readonly mount: (router: Router<RequestState>, deps: RouteDeps) => void;
  /** Members of the metadata that replace or follow the usual ones. */
  readonly metadata: (addresses: Addresses) => Readonly<Record<string, unknown>>;
}

const profileRoutes: Readonly<Record<ProfileRules['name'], ProfileRoutes>> = {
  signet: { mount: () => undefined, metadata: () => ({}) },
  athenz: { mount: mountAthenzRoutes, metadata: athenzMetadata },
};

/** Routes of the busiest operations, for services and updaters. */
export function mountBusyRoutes(router: Router<RequestState>, { config, addresses, tokens, bundles }: RouteDeps): void {
  router.post(
    `${addresses.basePath}/oauth2/token`,
    readForm(config.limits.bodyBytes),
    accessTokenRoute(tokens, requestRules[config.profile.tokenRequests]),
  );
  router.get(`${addresses.basePath}/domain/:domainName/policy/signed`, getPolicyBundleRoute(bundles));
}

/** The other operations, by path. */
export function mountRoutes(router: Router<RequestState>, deps: RouteDeps): void {
  const { config, addresses, tokens, access, bundles } = deps;
  const base = addresses.basePath;
  const { bodyBytes } = config.limits;
  const { maxAgeSeconds } = config.keys;
  const keysOf = { snapshot: tokens.snapshot, keys: tokens.keys, profile: config.profile };
  const publicKeys = { keys: tokens.keys, maxAgeSeconds };
  router.get(`${base}/oauth2/keys`, publicKeysRoute(publicKeys));
  router.get(`${base}/.well-known/jwks.json`, jwksRoute(publicKeys));
  router.get(`${base}/access/domain/:domainName/principal/:principal`, roleAccessRoute(access));
  router.get(`${base}/access/domain/:domainName/role/:roleName/principal/:principal`, roleCheckRoute(access));
  router.get(`${base}/access/:action`, accessRoute(access));
  router.get(`${base}/access/:action/:resource`, accessRoute(access));
  router.post(`${base}/access-checks`, readJson(bodyBytes), accessChecksRoute(access));
  router.post(`${base}/domain/:domainName/policy/signed`, readJson(bodyBytes), postPolicyBundleRoute(bundles));
  router.get(`${base}/bundle-domains`, bundleDomainsRoute(bundles.snapshot));
  router.get(`${base}/domain/:domainName/role/:roleName/creds`, cloudCredentialsRoute(deps.cloud));
  router.post(`${base}/sshcert`, readJson(bodyBytes), sshCertificateRoute(deps.ssh));
  router.post(`${base}/sshcert/revoke`, readJson(bodyBytes), sshRevokeRoute(deps.ssh));
  router.get(`${base}/sshcert/krl`, sshRevocationsRoute(deps.ssh));
  router.get(`${base}/domain/:domainName/service/:serviceName/publickey/:keyId`, servicePublicKeyRoute(keysOf));
  const own = profileRoutes[config.profile.name];
  own.mount(router, deps);
  if (deps.identity !== undefined) mountIdentityRoutes(router, deps.identity, config.limits.largeBodyBytes);
  const document = { ...serverMetadata(addresses, config.tokens.bound), ...own.metadata(addresses) };
  const metadata = metadataRoute(document, maxAgeSeconds);
  for (const path of metadataPaths(addresses)) router.get(path, metadata);
  mountHealthRoutes(router, deps);
}

/** The document of all that is served. */
export function mountOpenApi(
  router: Router<RequestState>,
  { config, addresses }: RouteDeps,
  describe: () => Promise<Readonly<Record<string, unknown>>>,
): void {
  const route = openApiRoute(describe, config.keys.maxAgeSeconds);
  for (const path of openApiPaths(addresses)) router.get(path, route);
}

/** Routes of probes. */
export function mountHealthRoutes(router: Router<RequestState>, { addresses, readiness }: RouteDeps): void {
  for (const path of healthPaths(addresses)) router.get(path, healthRoute);
  for (const path of readinessPaths(addresses)) router.get(path, readinessRoute(readiness));
}

/** The paths that answer callers without a certificate (docs/reference/authentication.md#client-certificates). */
export function openPaths(
  addresses: Addresses,
  { anonymousKeys, profile }: Pick<ServerConfig, 'anonymousKeys' | 'profile'>,
): ReadonlySet<string> {
  const { basePath } = addresses;
  const open = [...probePaths(addresses), ...profile.openPaths.map((path) => `${basePath}${path}`)];
  return new Set(anonymousKeys ? [...open, ...publishablePaths(addresses)] : open);
}

/** The paths that `anonymousKeys` opens. */
export function publishablePaths(addresses: Addresses): ReadonlySet<string> {
  const { basePath } = addresses;
  const keys = [`${basePath}/oauth2/keys`, `${basePath}/.well-known/jwks.json`];
  return new Set([...keys, ...metadataPaths(addresses), ...openApiPaths(addresses)]);
}
