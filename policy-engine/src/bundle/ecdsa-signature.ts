/* Tags of DER. The reader and writer of certificates are not used here: the core runs in browsers too. */

const [sequenceTag, integerTag] = [0x30, 0x02];

/** Length of r and of s on P-256. */
const size = 32;

/**
 * r and s side by side, from `SEQUENCE { INTEGER r, INTEGER s }` in DER (RFC 3279 §2.2.3); `undefined` for anything else. There is one
 * DER text for two numbers: longer forms and what follows them are refused.
 */
export function readEcdsaSignature(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  // Single-byte lengths suffice for two numbers of 33 bytes at most.
  if (der[0] !== sequenceTag || der[1] !== der.length - 2) return undefined;
  const r = readUnsigned(der, 2);
  const s = r === undefined ? undefined : readUnsigned(der, r.end);
  if (r === undefined || s === undefined || s.end !== der.length) return undefined;
  const both = new Uint8Array(2 * size);
  both.set(r.octets, size - r.octets.length);
  both.set(s.octets, 2 * size - s.octets.length);
  return both;
}

/** A positive number of at most 32 octets, without the leading zero that keeps it positive; `end` may lie behind the text. */
function readUnsigned(der: Uint8Array, at: number): { octets: Uint8Array; end: number } | undefined {
  const start = at + 2;
  const end = start + (der[at + 1] ?? 0);
  if (der[at] !== integerTag) return undefined;
  const [first = 0, second = 0] = der.subarray(start, end);
  if (first >= 0x80 || (first === 0 && second < 0x80)) return undefined;
  const octets = der.subarray(first === 0 ? start + 1 : start, end);
  return octets.length > size ? undefined : { octets, end };
}
