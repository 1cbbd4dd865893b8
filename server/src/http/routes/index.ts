import type Router from '@koa/router';
import type { Addresses, ServerConfig } from '../../config/config.ts';
import type { IssueTokensDeps } from '../../oauth/issue-tokens.ts';
import { readForm, readJson } from '../body.ts';
import type { RequestState } from '../context.ts';
import { type AccessDeps, accessRoute, roleAccessRoute, roleCheckRoute } from './access-route.ts';
import { accessTokenRoute } from './access-token.ts';
import { type CloudCredentialsDeps, cloudCredentialsRoute } from './cloud-credentials.ts';
import { healthRoute, type ReadinessDeps, readinessRoute } from './health.ts';
import type { IdentityRouteDeps } from './identity/identity-deps.ts';
import { mountIdentityRoutes } from './identity/index.ts';
import { metadataPaths, metadataRoute, serverMetadata } from './metadata.ts';
import { getPolicyBundleRoute, type PolicyBundleDeps, postPolicyBundleRoute } from './policy-bundle.ts';
import { jwksRoute, publicKeysRoute } from './public-keys.ts';
import { servicePublicKeyRoute } from './service-public-key.ts';
import { signedPolicyDataRoute } from './signed-policy-data-route.ts';
import { type SshRouteDeps, sshCertificateRoute, sshRevocationsRoute, sshRevokeRoute } from './ssh-certificate.ts';

export interface RouteDeps {
  readonly config: ServerConfig;
  readonly addresses: Addresses;
  readonly tokens: IssueTokensDeps;
  readonly access: AccessDeps;
  readonly bundles: PolicyBundleDeps;
  readonly readiness: ReadinessDeps;
  /** Absent when no issuer is configured. */
  readonly identity?: IdentityRouteDeps | undefined;
  readonly ssh: SshRouteDeps;
  readonly cloud: CloudCredentialsDeps;
}

/** What services and updaters ask for all the time. */
export function mountBusyRoutes(router: Router<RequestState>, { config, addresses, tokens, bundles }: RouteDeps): void {
  router.post(`${addresses.basePath}/oauth2/token`, readForm(config.limits.bodyBytes), accessTokenRoute(tokens));
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
  router.post(`${base}/domain/:domainName/policy/signed`, readJson(bodyBytes), postPolicyBundleRoute(bundles));
  router.get(`${base}/domain/:domainName/role/:roleName/creds`, cloudCredentialsRoute(deps.cloud));
  router.post(`${base}/sshcert`, readJson(bodyBytes), sshCertificateRoute(deps.ssh));
  router.post(`${base}/sshcert/revoke`, readJson(bodyBytes), sshRevokeRoute(deps.ssh));
  router.get(`${base}/sshcert/krl`, sshRevocationsRoute(deps.ssh));
  router.get(`${base}/domain/:domainName/service/:serviceName/publickey/:keyId`, servicePublicKeyRoute(keysOf));
  if (deps.identity !== undefined) mountIdentityRoutes(router, deps.identity, config.limits.largeBodyBytes);
  if (config.profile.signedPolicyData) {
    router.get(`${base}/domain/:domainName/signed_policy_data`, signedPolicyDataRoute(bundles));
  }
  const metadata = metadataRoute(serverMetadata(addresses, config.tokens.bound), maxAgeSeconds);
  for (const path of metadataPaths(addresses)) router.get(path, metadata);
  mountHealthRoutes(router, deps);
}

/** What probes ask. */
export function mountHealthRoutes(router: Router<RequestState>, { addresses, readiness }: RouteDeps): void {
  for (const path of healthPaths(addresses)) router.get(path, healthRoute);
  for (const path of readinessPaths(addresses)) router.get(path, readinessRoute(readiness));
}

/** At the root for probes, and below the base URL. */
function healthPaths({ basePath }: Addresses): string[] {
  return [...new Set(['/healthz', `${basePath}/healthz`])];
}

function readinessPaths({ basePath }: Addresses): string[] {
  return [...new Set(['/readyz', `${basePath}/readyz`])];
}

/** The paths that answer callers without a certificate (docs/reference/authentication.md#client-certificates). */
export function openPaths(addresses: Addresses, anonymousKeys: boolean): ReadonlySet<string> {
  const open = [...healthPaths(addresses), ...readinessPaths(addresses)];
  if (anonymousKeys) {
    const { basePath } = addresses;
    open.push(`${basePath}/oauth2/keys`, `${basePath}/.well-known/jwks.json`, ...metadataPaths(addresses));
  }
  return new Set(open);
}
