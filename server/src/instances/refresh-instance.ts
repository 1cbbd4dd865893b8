import { epochSeconds } from '@signet/policy-engine/clock';
import { servicePrincipal } from '@signet/policy-engine/names';
import { type CertificateRequest, parseCertificateRequest } from '../certificates/csr.ts';
import type { SignedCertificate } from '../certificates/issue-certificate.ts';
import { ForbiddenError } from '../errors.ts';
import {
  type AttestInput,
  attest,
  authorizeProvider,
  findTenant,
  hostCertificate,
  namesFor,
  readHostRequest,
  signInstance,
} from './attest-instance.ts';
import type { Attested } from './attestation/attestation.ts';
import type { Caller } from './caller.ts';
import { type InstanceDeps, type InstanceIdentity, presentedChain } from './instance-deps.ts';
import type { RefreshInformation } from './instance-request.ts';
import type { InstanceKey, Lineage, Standing } from './instance-store.ts';

/* The certificate must be one of this very instance: a neighbour's would otherwise count as a foreign serial, and revoke it. */
async function requireOwnCertificate(deps: InstanceDeps, caller: Caller, key: InstanceKey): Promise<Standing> {
  if (caller.principal !== servicePrincipal(key.domain, key.service)) {
    throw new ForbiddenError(
      `principal \`${caller.principal}\` may not refresh an instance of \`${key.domain}.${key.service}\``,
    );
  }
  const standing = await deps.instances.standing(key, caller.certificate.serial);
  if (standing === undefined) throw new ForbiddenError('the certificate is not one of this instance');
  return standing;
}

/*
 * Decision 21. A serial that is neither the current nor the previous one means that two hold certificates of one instance: both
 * lose them, and must register anew.
 */
async function refuseForeign(deps: InstanceDeps, caller: Caller, key: InstanceKey, lineage: Lineage): Promise<void> {
  if (lineage === 'current' || lineage === 'previous') return;
  if (lineage === 'missing') throw new ForbiddenError('the instance is not registered');
  if (lineage === 'foreign') {
    const { serial } = caller.certificate;
    const revocation = {
      reason: 'key-compromise',
      at: epochSeconds(deps.clock),
      by: `serial ${serial} presented again`,
    } as const;
    const context = {
      actor: caller.principal,
      certificateSerial: serial,
      requestId: caller.requestId,
      reason: 'the serial number is neither the current one of the instance nor the one before',
    };
    await deps.store.change(context, (transaction) => transaction.revokeInstance(key, revocation));
    await deps.onRevoked();
  }
  throw new ForbiddenError('the instance is revoked, it must register anew');
}

async function signAndRotate(
  deps: InstanceDeps,
  caller: Caller,
  input: AttestInput,
  request: CertificateRequest,
  attested: Attested,
  clientOnly: boolean,
): Promise<SignedCertificate> {
  const signed = await signInstance(deps, input, request, attested, clientOnly);
  if (!attested.recorded) {
    await deps.certificates.confirm(signed.serial, signed.fingerprint);
    return signed;
  }
  const { serial } = caller.certificate;
  // INVARIANT: compared again where it is changed, the lineage may have moved while the provider was asked.
  const rotation = await deps.instances.rotate(input.key, serial, signed, epochSeconds(deps.clock));
  if (rotation !== 'moved') await refuseForeign(deps, caller, input.key, rotation);
  return signed;
}

/**
 * `POST /instance/{provider}/{domain}/{service}/{instanceId}`: a new certificate for an instance that presents its current or previous
 * one. Throws as `registerInstance` does.
 */
export async function refreshInstance(
  deps: InstanceDeps,
  caller: Caller,
  key: InstanceKey,
  information: RefreshInformation,
): Promise<InstanceIdentity> {
  const request = information.csr === undefined ? undefined : parseCertificateRequest(information.csr);
  const issueHost = readHostRequest(deps, information);
  findTenant(deps.snapshot(), key);
  const { lineage, clientOnly } = await requireOwnCertificate(deps, caller, key);
  authorizeProvider(deps, key, information);
  const names = request === undefined ? noNames : namesFor(deps, request, key, information, caller.address);
  if (lineage !== 'missing') await refuseForeign(deps, caller, key, lineage);
  const { principal, address } = caller;
  const input: AttestInput = { operation: 'refresh', key, information, names, principal, address };

  const attested = await attest(deps, input);
  if (attested.recorded && lineage === 'missing') throw new ForbiddenError('the instance is not registered');
  const signed = request && (await signAndRotate(deps, caller, input, request, attested, clientOnly));
  const ssh = await hostCertificate(deps, issueHost, input, attested);
  const presented = signed && presentedChain(signed, deps.issuers.current().rootsPem);
  return {
    provider: key.provider,
    name: `${key.domain}.${key.service}`,
    instanceId: key.instanceId,
    ...(presented !== undefined && { x509Certificate: presented.chain, x509CertificateSigner: presented.signer }),
    ...(ssh !== undefined && { sshCertificate: ssh.certificate, sshCertificateSigner: ssh.signer }),
    attributes: attested.attributes,
  };
}

const noNames = { commonName: '', subject: [], altNames: [] } as const;
