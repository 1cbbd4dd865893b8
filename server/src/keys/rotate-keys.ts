import type { Clock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import type { SigningKeyRecord } from '../snapshot/snapshot.ts';
import type { KeyFiles } from './key-files.ts';
import { signingOrder } from './key-life.ts';
import { newSigningKey } from './new-signing-key.ts';

/** The purposes that a server needs a key for. */
export const keyPurposes: readonly KeyPurpose[] = ['token', 'bundle'];

/** Where the records of signing keys are kept. */
export interface SigningKeyStore {
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  addSigningKey(record: SigningKeyRecord): Promise<void>;
}

export interface RotateKeysDeps {
  readonly store: SigningKeyStore;
  readonly files: KeyFiles;
  readonly clock: Clock;
}

/**
 * Adds one key that signs from `delayMs` on. The private key is on disk before its record is in the store, so that a
 * record without a key can only mean that the key is on another machine.
 */
export async function addSigningKey(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  delayMs: number,
): Promise<SigningKeyRecord> {
  const now = deps.clock.now();
  const { record, privateKey } = newSigningKey(purpose, now, now + delayMs);
  await deps.files.write(record.kid, privateKey);
  await deps.store.addSigningKey(record);
  return record;
}

/** Makes the first key of each purpose that has none; the records made. */
export async function ensureSigningKeys(deps: RotateKeysDeps): Promise<readonly SigningKeyRecord[]> {
  const records = await deps.store.signingKeys();
  const made: SigningKeyRecord[] = [];
  for (const purpose of keyPurposes) {
    if (signingOrder(records, purpose, deps.clock.now()).length > 0) continue;
    made.push(await addSigningKey(deps, purpose, 0));
  }
  return made;
}
