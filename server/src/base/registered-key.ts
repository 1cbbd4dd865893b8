import { createPublicKey, type KeyObject } from 'node:crypto';
import type { KeyId } from '@signet/policy-engine/names';
import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';

const keysKept = 10_000;
const parsed = new LRUCache<string, KeyObject>(atMost(keysKept));

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

/** The id under which a service has the key that a request names, if it has one. */
export type FindKeyId = (keys: ReadonlyMap<KeyId, unknown>, asked: KeyId) => KeyId;

export const exactKeyId: FindKeyId = (_, asked) => asked;

/** Ids by their lower-case form; two that share one stand for neither. A snapshot keeps its map for as long as the keys do not change. */
const folded = new WeakMap<ReadonlyMap<KeyId, unknown>, ReadonlyMap<string, KeyId | undefined>>();

/** Key look-up for clients that write ids in lower case whatever they were told. */
export const keyIdInAnyCase: FindKeyId = (keys, asked) => {
  if (keys.has(asked)) return asked;
  const known = folded.get(keys) ?? foldIds(keys);
  folded.set(keys, known);
  return known.get(asked.toLowerCase()) ?? asked;
};

function foldIds(keys: ReadonlyMap<KeyId, unknown>): ReadonlyMap<string, KeyId | undefined> {
  const ids = new Map<string, KeyId | undefined>();
  for (const id of keys.keys()) {
    const form = id.toLowerCase();
    ids.set(form, ids.has(form) ? undefined : id);
  }
  return ids;
}
