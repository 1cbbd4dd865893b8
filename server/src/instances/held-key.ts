import type { KeyObject } from 'node:crypto';
import type { KeyId } from '@signet/policy-engine/names';
import { registeredKey } from '../base/registered-key.ts';
import { keyBits, type SubjectKey } from '../x509/subject-key.ts';

type Keys = ReadonlyMap<KeyId, string>;

/** The keys of a service by their marks. A snapshot keeps its map for as long as the keys do not change. */
const known = new WeakMap<Keys, ReadonlyMap<string, readonly KeyId[]>>();

/** The id under which a service has registered a key, if it has. Only those that may be it are read: there may be ten thousand. */
export function heldKey(keys: Keys, { spki }: Pick<SubjectKey, 'spki'>, key: KeyObject): KeyId | undefined {
  const marked = known.get(keys) ?? byMark(keys);
  known.set(keys, marked);
  return marked.get(markOf(spki))?.find((id) => registeredKey(keys.get(id) ?? '')?.equals(key) === true);
}

function byMark(keys: Keys): ReadonlyMap<string, readonly KeyId[]> {
  const marked = new Map<string, KeyId[]>();
  for (const [id, pem] of keys) {
    const mark = markOf(Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64'));
    const ids = marked.get(mark);
    if (ids === undefined) marked.set(mark, [id]);
    else ids.push(id);
  }
  return marked;
}

/** Points on curves have from 33 octets (P-256, compressed) to 133 (P-521); Ed25519 keys have fewer, RSA keys more. */
const pointOctets = { least: 33, most: 133 };

/** The same for one key however it is written: of a point on a curve the first coordinate, since the second may be left out. */
function markOf(spki: Buffer): string {
  const bits = bitsOf(spki);
  if (bits.length < pointOctets.least || bits.length > pointOctets.most) return bits.toString('base64');
  const isCompressed = (bits[0] ?? 0) < 4;
  const octets = isCompressed ? bits.length - 1 : (bits.length - 1) / 2;
  return bits.subarray(1, 1 + octets).toString('base64');
}

/** Bits of the key; empty for what a damaged store has in place of one. */
function bitsOf(spki: Buffer): Buffer {
  try {
    return keyBits(spki);
  } catch {
    return Buffer.alloc(0);
  }
}
