import { parseDomainName, parsePathElement, parseServiceName } from '@signet/policy-engine/names';
import type { RegisterTokenDeps } from '../../../instances/create-register-token.ts';
import type { InstanceDeps } from '../../../instances/instance-deps.ts';
import { parseProviderName } from '../../../instances/instance-request.ts';
import type { InstanceKey } from '../../../model/instance-store.ts';
import type { IssueIdentityDeps } from '../../../people/issue-identity.ts';
import type { LogInDeps } from '../../../people/log-in.ts';
import type { LoginMetadata } from '../../../people/login-metadata.ts';
import type { RoleCertificateDeps } from '../../../x509/issue-role-certificate.ts';
import type { RouteContext } from '../../context.ts';
import type { RevocationListDeps } from './authority-certificates.ts';
import type { BesideIdentity } from './beside-identity.ts';

/** Dependencies of the operations on certificates. */
export interface IdentityRouteDeps extends RevocationListDeps {
  readonly instances: InstanceDeps;
  readonly roles: RoleCertificateDeps;
  readonly registerTokens: RegisterTokenDeps;
  readonly people: IssueIdentityDeps;
  readonly login: LogInDeps;
  /** Metadata of the issuers for `signet login`. */
  readonly loginMetadata: LoginMetadata;
  /** Unit of `expiryTime`, in seconds. */
  readonly expiryTimeSeconds: number;
  readonly beside: BesideIdentity;
  readonly basePath: string;
}

/** The instance that a path names. Throws `InvalidNameError`. */
export function instanceKeyOf(ctx: RouteContext): InstanceKey {
  return {
    provider: parseProviderName(ctx.params['provider']),
    domain: parseDomainName(ctx.params['domain'], 'domain'),
    service: parseServiceName(ctx.params['service'], 'service'),
    instanceId: parsePathElement(ctx.params['instanceId'], 'instanceId'),
  };
}
