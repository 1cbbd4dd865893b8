import type { Revocation } from '@signet/server/model/certificate-store';
import type { Store } from '@signet/server/model/store';

/** Revokes a certificate as an operator does; false when there is none, or it was revoked before. */
export function revoke(store: Store, serial: string, revocation: Revocation): Promise<boolean> {
  return store.change({ actor: revocation.by }, (transaction) => transaction.revokeCertificate(serial, revocation));
}
