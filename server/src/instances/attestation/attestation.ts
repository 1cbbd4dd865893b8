import { DomainError } from '../../errors.ts';
import type { InstanceKey } from '../../model/instance-store.ts';
import type { CertificateUsage } from '../../x509/certificate-profile.ts';
import type { AltName } from '../../x509/subject-alt-names.ts';

/** Statement of an instance about itself, and the server's observations of it. */
export interface AttestationRequest extends InstanceKey {
  readonly operation: 'register' | 'refresh';
  readonly attestationData: string;
  /** The names that the request asks for; they follow the naming rules already. */
  readonly altNames: readonly AltName[];
  readonly hostname?: string | undefined;
  /** The caller's address as text. */
  readonly clientAddress: string;
  /** The authenticated caller, if it is one. */
  readonly principal?: string | undefined;
  readonly cloud?: string | undefined;
  readonly awsAccount?: string | undefined;
  /** Since when credentials of the service count, in milliseconds since the epoch: those of before are of a deleted one of its name. */
  readonly credentialsFrom?: number | undefined;
}

/** Result of an attestation, and the provider's terms for the certificate. */
export interface Attested {
  readonly usage: CertificateUsage;
  /** An upper bound of the certificate's life in seconds. */
  readonly maxSeconds?: number | undefined;
  /** True if the instance is recorded, and its certificate bound to that record at each refresh. */
  readonly recorded: boolean;
  /** True if it may have an SSH host certificate. */
  readonly ssh: boolean;
  /** The digest of the join token that attested it, which is spent when the instance is recorded. */
  readonly joinToken?: string | undefined;
  /** Principals that the provider vouches for in an SSH host certificate. */
  readonly sshPrincipals?: readonly string[] | undefined;
  /** Attributes for the instance, unchanged. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Decides whether an instance is what it says it is. */
export interface AttestationProvider {
  /** Attests the instance. Throws `ForbiddenError` on a refusal, `ProviderFailedError` without an answer. */
  attest(request: AttestationRequest): Promise<Attested>;
}

/** A provider that was built in vouches for both usages, a record, and nothing else. */
export const plainlyAttested: Attested = { usage: 'both', recorded: true, ssh: true, attributes: {} };

/** The provider gave no answer that can be used: it is down, slow, not who it should be, or may not be called. */
export class ProviderFailedError extends DomainError {
  override readonly name = 'ProviderFailedError';
  readonly code = 'provider-failed';
}
