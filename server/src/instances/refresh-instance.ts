import { epochSeconds } from '@signet/policy-engine/clock';
import { servicePrincipal } from '@signet/policy-engine/names';
import { requireKnownIdentity } from '../access/known-identity.ts';
import { decidedAgain } from '../access/recording-conditions.ts';
import { ForbiddenError } from '../errors.ts';
import type { InstanceKey, InstanceStatus, Lineage } from '../model/instance-store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { parseCertificateRequest } from '../x509/csr.ts';
import type { SignedCertificate } from '../x509/issue-certificate.ts';
import {
  type AttestInput,
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
import type { Attested } from './attestation/attestation.ts';
import type { Caller } from './caller.ts';
import { type InstanceDeps, type InstanceIdentity, presentedChain } from './instance-deps.ts';
import type { RefreshInformation } from './instance-request.ts';

/*
 * The certificate must be one of this very instance: a neighbour's would otherwise count as a foreign serial, and revoke it. It raises an
 * alarm.
 */
async function requireOwnCertificate(deps: InstanceDeps, caller: Caller, key: InstanceKey): Promise<InstanceStatus> {
  if (caller.principal !== servicePrincipal(key.domain, key.service)) {
    await deps.noteForeignRefresh(caller, key);
    throw new ForbiddenError(
      `principal \`${caller.principal}\` may not refresh an instance of \`${key.domain}.${key.service}\``,
    );
  }
  const status = await deps.instances.statusOf(key, caller.certificate.serial);
  if (status !== undefined) return status;
  await deps.noteForeignRefresh(caller, key);
  throw new ForbiddenError('the certificate is not one of this instance');
}

/*
 * docs/reference/certificates.md#instances. A serial that is neither the current nor the previous one means that two hold certificates of
 * one instance: both lose them, and must register again.
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
  throw new ForbiddenError('the instance is revoked, it must register again');
}

interface RefreshGrounds {
  readonly key: InstanceKey;
  readonly attested: Attested;
  /** Throws when the instance may have nothing. */
  readonly authorize: (snapshot: Snapshot) => unknown;
}

/*
 * INVARIANT: lineage and rights are compared again in the transaction that records the certificate; both may have moved while the provider
 * was asked.
 */
async function recordRefresh(
  deps: InstanceDeps,
  caller: Caller,
  signed: SignedCertificate,
  { key, attested, authorize }: RefreshGrounds,
): Promise<void> {
  const { serial, issuedAt } = caller.certificate;
  // The tenant first: what is not there any more is said of it, and not of the caller.
  const rights = decidedAgain(deps, undefined, (snapshot) => {
    authorize(snapshot);
    requireProvider(asOf(deps, snapshot), key.provider);
    requireKnownIdentity(caller.principal, snapshot, issuedAt);
  });
  const conditions = { ...rights, presented: serial };
  if (!attested.recorded) {
    await deps.certificates.confirm(signed.serial, signed.fingerprint, conditions);
    return;
  }
  const given = { ...signed, sshAllowed: attested.ssh };
  const presented = { serial, at: epochSeconds(deps.clock) };
  const rotation = await deps.instances.rotate(key, presented, given, conditions);
  if (rotation !== 'moved') await refuseForeign(deps, caller, key, rotation);
}

/* INVARIANT: without a request for a certificate the lineage is compared again here, before anything is given: the provider took its time. */
async function recordSshAllowed(deps: InstanceDeps, caller: Caller, key: InstanceKey, allowed: boolean): Promise<void> {
  await refuseForeign(deps, caller, key, await deps.instances.allowSsh(key, caller.certificate.serial, allowed));
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
  const requireSame = samePrincipals(deps.snapshot(), key);
  const authorize = (snapshot: Snapshot) => {
    const at = asOf(deps, snapshot);
    findTenant(snapshot, key);
    requireSame(snapshot);
    authorizeProvider(at, key, information);
    const stated = { hostname: information.hostname, address: caller.address };
    return request === undefined ? noNames : namesFor(at, request, key, stated);
  };
  findTenant(deps.snapshot(), key);
  const { lineage, clientOnly } = await requireOwnCertificate(deps, caller, key);
  const names = authorize(deps.snapshot());
  if (lineage !== 'missing') await refuseForeign(deps, caller, key, lineage);
  const { principal, address } = caller;
  const presented = caller.certificate.serial;
  const input: AttestInput = { operation: 'refresh', key, information, names, principal, address, presented };

  const answer = await attest(deps, input);
  const attested: Attested = clientOnly ? { ...answer, usage: 'client' } : answer;
  if (attested.recorded && lineage === 'missing') throw new ForbiddenError('the instance is not registered');
  if (request === undefined && attested.recorded) await recordSshAllowed(deps, caller, key, attested.ssh);
  const signed = request && (await signInstance(deps, input, request, attested));
  const presentedEnd = Math.floor(caller.certificate.notAfter / 1000);
  const asking = { ...caller.certificate, notAfter: signed?.notAfter ?? presentedEnd };
  const ssh = await hostCertificate(deps, issueHost, input, { attested, asking, authorize });
  if (signed !== undefined) await recordRefresh(deps, caller, signed, { key, attested, authorize });
  const chained = signed && presentedChain(signed, deps.issuers.current().rootsPem);
  return {
    provider: key.provider,
    name: `${key.domain}.${key.service}`,
    instanceId: key.instanceId,
    ...(chained !== undefined && { x509Certificate: chained.chain, x509CertificateSigner: chained.signer }),
    ...(ssh !== undefined && { sshCertificate: ssh.certificate, sshCertificateSigner: ssh.signer }),
    attributes: attested.attributes,
  };
}

const noNames = { commonName: '', subject: [], altNames: [] } as const;
