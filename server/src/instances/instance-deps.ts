import type { Clock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import type { DecideAgainDeps } from '../access/recording-conditions.ts';
import type { FindKeyId } from '../base/registered-key.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import type { InstanceKey, InstanceStore } from '../model/instance-store.ts';
import type { Store } from '../model/store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { SshHost } from '../ssh/issue-ssh.ts';
import type { IssueDeps, SignedCertificate } from '../x509/issue-certificate.ts';
import type { Issuers } from '../x509/issuers.ts';
import type { NamingRules } from '../x509/naming.ts';
import type { AttestationProvider } from './attestation/attestation.ts';
import type { NoteForeignRefresh } from './foreign-refresh.ts';
import type { ReservedAddresses } from './reserved-addresses.ts';
import type { HostRules } from './reserved-names.ts';

/** The provider of that name: built in, or one that is called at its endpoint. */
export type FindProvider = (snapshot: Snapshot, name: PrincipalName) => AttestationProvider | undefined;

/** An SSH host certificate for an instance and the key of who signed it. */
export interface SshHostCertificate {
  readonly certificate: string;
  readonly signer: string;
}

/** Issues the certificate of a request that was read, for the names that are found to be the instance's own. */
export type IssueHostCertificate = (
  instance: InstanceKey,
  host: Pick<SshHost, 'asking' | 'namesAt' | 'maxSeconds'>,
) => Promise<SshHostCertificate>;

/** Dependencies of an instance's life. */
export interface InstanceDeps extends IssueDeps, DecideAgainDeps {
  readonly clock: Clock;
  readonly rules: NamingRules;
  readonly findKeyId: FindKeyId;
  readonly hosts: HostRules;
  readonly reservedAddresses: ReservedAddresses;
  readonly issuers: Pick<Issuers, 'signing' | 'current'>;
  readonly certificates: CertificateStore;
  readonly instances: InstanceStore;
  /** Store, for audit records of revocations. */
  readonly store: Pick<Store, 'change'>;
  readonly findProvider: FindProvider;
  /** Reads a request for an SSH host certificate. Absent when there is no authority for hosts. Throws `InvalidRequestError`. */
  readonly readHostRequest?: ((csr: string) => IssueHostCertificate) | undefined;
  readonly limits: CertificateLimits;
  readonly noteForeignRefresh: NoteForeignRefresh;
  /** Called after certificates were revoked, so that this server refuses them from its next request on. */
  readonly onRevoked: () => Promise<void>;
}

/** Bounds of the server itself, in seconds. */
interface CertificateLimits {
  readonly serviceDefaultSeconds: number;
  readonly serviceMaxSeconds: number;
  readonly roleDefaultSeconds: number;
  readonly roleMaxSeconds: number;
}

/** The answer to a registration (docs/reference/certificates.md#instances). */
export interface InstanceIdentity {
  readonly provider: string;
  readonly name: string;
  readonly instanceId: string;
  /** The certificate, followed by those of its issuers up to the root without it. */
  readonly x509Certificate?: string;
  /** The certificates of its issuers up to and with the roots. */
  readonly x509CertificateSigner?: string;
  readonly sshCertificate?: string;
  readonly sshCertificateSigner?: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** A certificate as callers get it: a chain that a TLS server or client can present as it is, and what to trust. */
export function presentedChain(signed: SignedCertificate, rootsPem: string): { chain: string; signer: string } {
  return { chain: `${signed.pem}${signed.chainPem}`, signer: `${signed.chainPem}${rootsPem}` };
}
