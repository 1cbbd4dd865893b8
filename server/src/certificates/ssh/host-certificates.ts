import {
  type DomainName,
  type PathElement,
  type PrincipalName,
  type ServiceName,
  servicePrincipal,
} from '@signet/policy-engine/names';
import { type IssuedSshCertificate, type IssueSshDeps, issueHostCertificate } from './issue-ssh.ts';
import { parseSshCsr } from './ssh-csr.ts';

/** An instance that registers or refreshes. */
export interface AttestedInstance {
  readonly provider: PrincipalName;
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly instanceId: PathElement;
}

/**
 * Issues host certificates at register and refresh: `csr` is the text of the field `ssh`, `names` what the instance was found to
 * hold, `maxSeconds` what its provider allows. Throws as `parseSshCsr` and `issueHostCertificate` do.
 */
export function instanceHostCertificates(deps: IssueSshDeps) {
  return (
    csr: string,
    { provider, domain, service, instanceId }: AttestedInstance,
    names: readonly string[],
    { maxSeconds }: { readonly maxSeconds?: number | undefined },
  ): Promise<IssuedSshCertificate> => {
    const host = { service: servicePrincipal(domain, service), provider, instanceId, names, maxSeconds };
    return issueHostCertificate(deps, host, parseSshCsr(csr));
  };
}
