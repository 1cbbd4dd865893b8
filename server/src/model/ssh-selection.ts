import type { PrincipalName } from '@signet/policy-engine/names';

/** Which certificates are meant: the one of a serial number, or every one of a key id. */
export type SshSelection =
  | { readonly by: 'serial'; readonly serial: bigint }
  | { readonly by: 'keyId'; readonly keyId: string };

/** An SSH certificate that counts. */
export interface LiveSshCertificate {
  /** As rows hold it. */
  readonly serial: string;
  readonly owner: PrincipalName;
}
