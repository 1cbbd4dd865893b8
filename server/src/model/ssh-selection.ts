import type { PrincipalName } from '@signet/policy-engine/names';

/** Selected certificates: the one of a serial number, or every one of a key id. */
export type SshSelection =
  | { readonly by: 'serial'; readonly serial: bigint }
  | { readonly by: 'keyId'; readonly keyId: string };

/** An SSH certificate that counts. */
export interface LiveSshCertificate {
  /** Serial number in the form of rows. */
  readonly serial: string;
  readonly owner: PrincipalName;
}
