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
import { type InstanceKey, type InstanceRecord, type Lineage, lineageOf } from './instance-store.ts';

/* The certificate must be one of this very instance: a neighbour's would otherwise count as a foreign serial, and revoke it. */
async function requireOwnCertificate(deps: InstanceDeps, caller: Caller, key: InstanceKey): Promise<void> {
  if (caller.principal !== servicePrincipal(key.domain, key.service)) {
    throw new ForbiddenError(
      `principal \`${caller.principal}\` may not refresh an instance of \`${key.domain}.${key.service}\``,
    );
  }
  const row = await deps.certificates.find(caller.certificate.serial);
  if (row?.kind !== 'instance' || row.provider !== key.provider || row.instanceId !== key.instanceId) {
    throw new ForbiddenError('the certificate is not one of this instance');
  }
}

/*
 * Decision 21. A serial that is neither the current nor the previous one means that two hold certificates of one instance: both
 * lose them, and must register anew.
 */
async function refuseForeign(deps: InstanceDeps, key: InstanceKey, lineage: Lineage, serial: string): Promise<void> {
  if (lineage === 'current' || lineage === 'previous') return;
  if (lineage === 'missing') throw new ForbiddenError('the instance is not registered');
  if (lineage === 'foreign') {
    const at = epochSeconds(deps.clock);
    await deps.instances.revoke(key, { reason: 'key-compromise', at, by: `serial ${serial} presented again` });
    await deps.onRevoked();
  }
  throw new ForbiddenError('the instance is revoked, it must register anew');
}

async function requireLineage(
  deps: InstanceDeps,
  caller: Caller,
  key: InstanceKey,
): Promise<InstanceRecord | undefined> {
  const record = await deps.instances.find(key);
  if (record === undefined) return undefined;
  await refuseForeign(deps, key, lineageOf(record, caller.certificate.serial), caller.certificate.serial);
  return record;
}

async function signAndRotate(
  deps: InstanceDeps,
  caller: Caller,
  input: AttestInput,
  request: CertificateRequest,
  attested: Attested,
  record: InstanceRecord | undefined,
): Promise<SignedCertificate> {
  const clientOnly = record?.clientOnly === true;
  const signed = await signInstance(deps, input, request, attested, clientOnly);
  if (!attested.recorded) {
    await deps.certificates.confirm(signed.serial, signed.fingerprint);
    return signed;
  }
  const { serial } = caller.certificate;
  // INVARIANT: compared again where it is changed, the lineage may have moved while the provider was asked.
  const lineage = await deps.instances.rotate(input.key, serial, signed, epochSeconds(deps.clock));
  await refuseForeign(deps, input.key, lineage, serial);
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
  await requireOwnCertificate(deps, caller, key);
  authorizeProvider(deps, key);
  const names = request === undefined ? noNames : namesFor(deps, request, key, information, caller.address);
  const record = await requireLineage(deps, caller, key);
  const { principal, address } = caller;
  const input: AttestInput = { operation: 'refresh', key, information, names, principal, address };

  const attested = await attest(deps, input);
  if (attested.recorded && record === undefined) throw new ForbiddenError('the instance is not registered');
  const signed = request && (await signAndRotate(deps, caller, input, request, attested, record));
  const ssh = await hostCertificate(issueHost, input, attested);
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
