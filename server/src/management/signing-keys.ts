import { NotFoundError } from '../errors.ts';
import type { SigningKeyRecord } from '../snapshot/snapshot.ts';
import type { ChangeContext } from '../store/records.ts';
import type { Store } from '../store/store.ts';

/** Records the public half of a new signing key. Throws `ConflictError` when the key is known. */
export function putSigningKey(store: Store, key: SigningKeyRecord, context: ChangeContext): Promise<void> {
  return store.change(context, (transaction) => transaction.addSigningKey(key));
}

/** All signing keys, by the time they become active. */
export function listSigningKeys(store: Store): Promise<readonly SigningKeyRecord[]> {
  return store.signingKeys();
}

/** Marks a key as compromised from `at` (milliseconds) on; a key that is marked already stays so. Throws `NotFoundError`. */
export async function markCompromised(store: Store, kid: string, at: number, context: ChangeContext): Promise<void> {
  const known = await store.change(context, (transaction) => transaction.markKeyCompromised(kid, at));
  if (!known) throw new NotFoundError('no signing key has this id');
}
