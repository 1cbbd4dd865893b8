import { createPublicKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Keys that are kept parsed. */
const keysKept = 10_000;
const parsed = new LRUCache<string, KeyObject>({ max: keysKept });

/** A public key of a service as it can be used. It was checked when it was registered; undefined for what a damaged store has in its place. */
export function registeredKey(pem: string): KeyObject | undefined {
  const known = parsed.get(pem);
  if (known !== undefined) return known;
  const key = readKey(pem);
  if (key !== undefined) parsed.set(pem, key);
  return key;
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}
