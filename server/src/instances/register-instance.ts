import { epochSeconds } from '@signet/policy-engine/clock';
import { parseCertificateRequest } from '../certificates/csr.ts';
import {
  attest,
  authorizeProvider,
  findTenant,
  hostCertificate,
  namesFor,
  readHostRequest,
  signInstance,
} from './attest-instance.ts';
import { type InstanceDeps, type InstanceIdentity, presentedChain } from './instance-deps.ts';
import type { RegisterInformation } from './instance-request.ts';
import type { InstanceKey } from './instance-store.ts';

/** Who registers: nobody in particular, or the holder of a certificate. */
export interface Registrant {
  readonly principal?: string | undefined;
  readonly address: string;
}

/**
 * `POST /instance`: gives an instance that its provider vouches for its first certificate, and records it. Throws
 * `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `ProviderFailedError`, `StoreUnavailableError`.
 */
export async function registerInstance(
  deps: InstanceDeps,
  registrant: Registrant,
  information: RegisterInformation,
): Promise<InstanceIdentity> {
  const request = parseCertificateRequest(information.csr);
  const issueHost = readHostRequest(deps, information);
  findTenant(deps.snapshot(), information);
  authorizeProvider(deps, information, information);
  const { provider, domain, service } = information;
  const asked = { provider, domain, service, instanceId: deps.rules.athenz ? information.instanceId : undefined };
  const { instanceId, ...names } = namesFor(deps, request, asked, information, registrant.address);
  const key: InstanceKey = { provider, domain, service, instanceId };
  const input = { operation: 'register', key, information, names, ...registrant } as const;

  const attested = await attest(deps, input);
  const ssh = await hostCertificate(deps, issueHost, input, attested);
  const clientOnly = attested.usage === 'client';
  const signed = await signInstance(deps, input, request, attested, clientOnly);
  if (attested.recorded) {
    const details = { clientOnly, hostname: information.hostname };
    await deps.instances.register(key, signed, details, epochSeconds(deps.clock));
  } else {
    await deps.certificates.confirm(signed.serial, signed.fingerprint);
  }
  const { chain, signer } = presentedChain(signed, deps.issuers.current().rootsPem);
  return {
    provider,
    name: `${domain}.${service}`,
    instanceId,
    x509Certificate: chain,
    x509CertificateSigner: signer,
    ...(ssh !== undefined && { sshCertificate: ssh.certificate, sshCertificateSigner: ssh.signer }),
    attributes: attested.attributes,
  };
}
