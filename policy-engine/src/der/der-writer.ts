/* DER (X.690 §8 and §10) as it is written. */

/** Tags of the universal class in certificates and their requests. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** DER element: tag, length in its shortest form, and the parts as content. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const header = length < 0x80 ? 2 : length < 0x100 ? 3 : length < 0x10000 ? 4 : 5;
  const out = Buffer.allocUnsafe(header + length);
  out[0] = tag;
  if (header === 2) out[1] = length;
  else {
    out[1] = 0x80 + header - 2;
    out.writeUIntBE(length, 2, header - 2);
  }
  let at = header;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** A SEQUENCE of these elements. */
export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...parts);
}

/** A SET of these elements, in this order. */
export function set(...parts: readonly Uint8Array[]): Buffer {
  return element(tags.set, ...parts);
}

/** An OCTET STRING. */
export function octetString(...parts: readonly Uint8Array[]): Buffer {
  return element(tags.octetString, ...parts);
}

const noUnusedBits = Uint8Array.of(0);

/** A BIT STRING of whole octets. */
export function bitString(...parts: readonly Uint8Array[]): Buffer {
  return element(tags.bitString, noUnusedBits, ...parts);
}

/** An INTEGER from big-endian octets of a number that is not negative. */
export function unsigned(octets: Uint8Array): Buffer {
  let start = 0;
  while (start < octets.length - 1 && octets[start] === 0) start += 1;
  const trimmed = octets.subarray(start);
  const [first = 0] = trimmed;
  return first >= 0x80 || trimmed.length === 0
    ? element(tags.integer, noUnusedBits, trimmed)
    : element(tags.integer, trimmed);
}

/** An INTEGER from a small number that is not negative. */
export function smallInteger(value: number): Buffer {
  const octets = Buffer.alloc(6);
  octets.writeUIntBE(value, 0, 6);
  return unsigned(octets);
}

/** An OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const octets: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const base128 = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) base128.unshift((left % 128) + 128);
    octets.push(...base128);
  }
  return element(tags.oid, Uint8Array.from(octets));
}

/** BOOLEAN TRUE. */
export const derTrue: Uint8Array = Uint8Array.of(tags.boolean, 1, 0xff);
/** NULL. */
export const derNull: Uint8Array = Uint8Array.of(tags.null, 0);

/** A UTF8String. */
export function utf8String(text: string): Buffer {
  return element(tags.utf8String, Buffer.from(text, 'utf8'));
}
