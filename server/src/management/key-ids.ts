import type { KeyId } from '@signet/policy-engine/names';

/** The one of the ids that differs from this one only in case: clients that write ids in lower case would mean either. */
export function sameInAnyCase(ids: readonly KeyId[], id: KeyId): KeyId | undefined {
  return ids.find((other) => other !== id && other.toLowerCase() === id.toLowerCase());
}
