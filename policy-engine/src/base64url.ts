import { type Base64urlCodec, byHand } from './base64url-by-hand.ts';
import { nodeBuffer } from './natively.ts';
import type { Steps } from './steps/steps.ts';

/** Standard base64 characters that Node accepts in base64url as well. */
const [plus, slash] = [0x2b, 0x2f];

/** Node's is many times as fast. It skips what it does not know: only a text that it would write itself is the one for its bytes. */
function codecOfNode(node: typeof Buffer): Base64urlCodec {
  const view = ({ buffer, byteOffset, length }: Uint8Array) => node.from(buffer, byteOffset, length);
  return {
    encode: (bytes) => view(bytes).toString('base64url'),
    decode(text, bytes) {
      const written = view(bytes);
      return written.write(text, 'base64url') === bytes.length && written.toString('base64url') === text;
    },
    decodeAscii(text, bytes) {
      const [read, written] = [view(text), view(bytes)];
      if (read.includes(plus) || read.includes(slash)) return false;
      const letters = read.toString('latin1');
      // A skipped character leaves fewer bytes than the text has room for.
      if (written.write(letters, 'base64url') !== bytes.length) return false;
      // Bits behind the last byte.
      const rest = letters.length % 4;
      return (
        rest === 0 || written.toString('base64url', bytes.length - rest + 1) === letters.slice(letters.length - rest)
      );
    },
  };
}

const codec = nodeBuffer === undefined ? byHand : codecOfNode(nodeBuffer);

/** base64url without padding (RFC 7515 §2). */
export function encodeBase64url(bytes: Uint8Array): string {
  return codec.encode(bytes);
}

/**
 * The bytes of a base64url text without padding, or `undefined`. There is one text for every byte sequence: padding, line
 * ends, other characters and bits that would be thrown away are refused.
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const length = lengthFor(text.length);
  if (length === undefined) return undefined;
  const bytes = new Uint8Array(length);
  return codec.decode(text, bytes) ? bytes : undefined;
}

/** Characters between two yields, in fours: some tenths of a millisecond. */
const sliceLength = 65_536;

/** `decodeBase64url` in slices, for long texts in UTF-8. */
export function* decodeBase64urlInSteps(text: Uint8Array): Steps<Uint8Array | undefined> {
  const length = lengthFor(text.length);
  if (length === undefined) return undefined;
  const bytes = new Uint8Array(length);
  for (let from = 0; from < text.length; from += sliceLength) {
    const start = (from / 4) * 3;
    const slice = bytes.subarray(start, start + (sliceLength / 4) * 3);
    if (!codec.decodeAscii(text.subarray(from, from + sliceLength), slice)) return undefined;
    yield;
  }
  return bytes;
}

/** How many bytes a text of that length stands for. */
function lengthFor(length: number): number | undefined {
  return length % 4 === 1 ? undefined : Math.floor((length * 3) / 4);
}
