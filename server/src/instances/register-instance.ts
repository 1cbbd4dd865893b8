import { epochSeconds } from '@signet/policy-engine/clock';
import { decidedAgain } from '../access/recording-conditions.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { parseCertificateRequest } from '../x509/csr.ts';
import {
  asOf,
  attest,
  authorizeProvider,
  findTenant,
  hostCertificate,
  namesFor,
  readHostRequest,
  requireProvider,
  samePrincipals,
  signInstance,
} from './attest-instance.ts';
import { type InstanceDeps, type InstanceIdentity, presentedChain } from './instance-deps.ts';
import type { RegisterInformation } from './instance-request.ts';

/** Registrant: anonymous, or the holder of a certificate. */
interface Registrant {
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
  const { provider, domain, service } = information;
  const requireSame = samePrincipals(deps.snapshot(), information);
  const authorize = (snapshot: Snapshot) => {
    const at = asOf(deps, snapshot);
    findTenant(snapshot, information);
    requireSame(snapshot);
    authorizeProvider(at, information, information);
    const { hostname } = information;
    return namesFor(at, request, information, { hostname, address: registrant.address });
  };
  const { instanceId, ...names } = authorize(deps.snapshot());
  const key: InstanceKey = { provider, domain, service, instanceId };
  const input = { operation: 'register', key, information, names, ...registrant } as const;

  const attested = await attest(deps, input);
  const signed = await signInstance(deps, input, request, attested);
  const ssh = await hostCertificate(deps, issueHost, input, { attested, asking: signed, authorize });
  // INVARIANT: asked again in the transaction that records it: the provider took its time, and rights may be gone since.
  const conditions = decidedAgain(deps, undefined, (snapshot) => {
    authorize(snapshot);
    requireProvider(asOf(deps, snapshot), provider);
  });
  if (attested.recorded) {
    const details = {
      clientOnly: attested.usage === 'client',
      sshAllowed: attested.ssh,
      hostname: information.hostname,
      joinToken: attested.joinToken,
      at: epochSeconds(deps.clock),
    };
    await deps.instances.register(key, signed, details, conditions);
  } else {
    await deps.certificates.confirm(signed.serial, signed.fingerprint, conditions);
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
