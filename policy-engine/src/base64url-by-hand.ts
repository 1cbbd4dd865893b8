const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const invalid = 255;

/** Table from a character code to its six bits. */
const sextets: Uint8Array = (() => {
  const table = new Uint8Array(128).fill(invalid);
  for (let value = 0; value < alphabet.length; value += 1) table[alphabet.charCodeAt(value)] = value;
  return table;
})();

/** Table from six bits to their character code. */
const codes: Uint8Array = Uint8Array.from(alphabet, (character) => character.charCodeAt(0));
/** Non-ASCII characters, a byte order mark included, are outside the alphabet. */
const ascii = new TextDecoder('utf-8', { ignoreBOM: true });

/** Conversion between bytes and base64url. */
export interface Base64urlCodec {
  encode(bytes: Uint8Array): string;
  /** Fills `bytes` from a text of the length that they need, and answers whether it is the one text for them. */
  decode(text: string, bytes: Uint8Array): boolean;
  /** The same for a text in bytes; what is not ASCII is no letter of the alphabet either. */
  decodeAscii(text: Uint8Array, bytes: Uint8Array): boolean;
}

/** Codec for platforms without an equally strict one of their own. */
export const byHand: Base64urlCodec = {
  encode: encodeByHand,
  decode: decodeByHand,
  decodeAscii: (text, bytes) => decodeByHand(ascii.decode(text), bytes),
};

function encodeByHand(bytes: Uint8Array): string {
  // String concatenation would make millions of small strings of a payload of megabytes.
  const characters = new Uint8Array(Math.ceil((bytes.length * 4) / 3));
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    // Writes behind the end of a typed array are ignored.
    characters[at] = codes[group >> 18] ?? 0;
    characters[at + 1] = codes[(group >> 12) & 63] ?? 0;
    characters[at + 2] = codes[(group >> 6) & 63] ?? 0;
    characters[at + 3] = codes[group & 63] ?? 0;
    at += 4;
  }
  return ascii.decode(characters);
}

function decodeByHand(text: string, bytes: Uint8Array): boolean {
  let out = 0;
  for (let i = 0; i < text.length; i += 4) {
    const group = decodeGroup(text, i);
    if (group < 0) return false;
    const left = bytes.length - out;
    if (left < 3 && (group & (left === 1 ? 0xffff : 0xff)) !== 0) return false;
    // Writes behind the end of a typed array are ignored.
    bytes[out] = group >> 16;
    bytes[out + 1] = group >> 8;
    bytes[out + 2] = group;
    out += 3;
  }
  return true;
}

/** Up to four characters as 24 bits; negative when one is not of the alphabet. */
function decodeGroup(text: string, at: number): number {
  const end = text.length;
  const a = sextet(text, at);
  const b = sextet(text, at + 1);
  const c = at + 2 < end ? sextet(text, at + 2) : 0;
  const d = at + 3 < end ? sextet(text, at + 3) : 0;
  return (a | b | c | d) > 63 ? -1 : (a << 18) | (b << 12) | (c << 6) | d;
}

function sextet(text: string, at: number): number {
  return sextets[text.charCodeAt(at)] ?? invalid;
}
