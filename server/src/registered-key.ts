import { createPublicKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Keys that are kept parsed. */
const keysKept = 10_000;
const parsed = new LRUCache<string, KeyObject>({ max: keysKept });

/** A public key of a service as it can be used: SPKI PEM, which was checked when it was registered. */
export function registeredKey(pem: string): KeyObject {
  const known = parsed.get(pem);
  if (known !== undefined) return known;
  const key = createPublicKey(pem);
  parsed.set(pem, key);
  return key;
}
