import type { Addresses, ServerConfig } from '../../config/config.ts';
import type { IssueTokensDeps } from '../../oauth/issue-tokens.ts';
import type { AccessDeps } from './access-route.ts';
import type { CloudCredentialsDeps } from './cloud-credentials.ts';
import type { ReadinessDeps } from './health.ts';
import type { IdentityRouteDeps } from './identity/identity-deps.ts';
import type { PolicyBundleDeps } from './policy-bundle.ts';
import type { SshRouteDeps } from './ssh-certificate.ts';

export interface RouteDeps {
  readonly config: ServerConfig;
  readonly addresses: Addresses;
  readonly tokens: IssueTokensDeps;
  readonly access: AccessDeps;
  readonly bundles: PolicyBundleDeps;
  readonly readiness: ReadinessDeps;
  /** Identity routes; absent when no issuer is configured. */
  readonly identity?: IdentityRouteDeps | undefined;
  readonly ssh: SshRouteDeps;
  readonly cloud: CloudCredentialsDeps;
}
