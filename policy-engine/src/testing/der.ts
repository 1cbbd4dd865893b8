/** One DER element (X.690 §8.1): tag, length, content. */
export function der(tag: number, ...parts: Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.from([tag, ...derLength(content.length)]), content]);
}

function derLength(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

export function sequence(...parts: Uint8Array[]): Uint8Array {
  return der(0x30, ...parts);
}

/** A non-negative INTEGER from its big-endian bytes. */
export function integer(bytes: Uint8Array): Uint8Array {
  return (bytes[0] ?? 0) > 0x7f ? der(0x02, Uint8Array.of(0), bytes) : der(0x02, bytes);
}

/** An OBJECT IDENTIFIER from its content in hexadecimal. */
export function oid(hex: string): Uint8Array {
  return der(0x06, Buffer.from(hex, 'hex'));
}

export function utf8(tag: number, text: string): Uint8Array {
  return der(tag, Buffer.from(text, 'utf8'));
}

export function bitString(bytes: Uint8Array): Uint8Array {
  return der(0x03, Uint8Array.of(0), bytes);
}
