import { type Base64urlCodec, byHand, decodeFours } from './base64url-by-hand.ts';
import { nodeBuffer } from './natively.ts';
import type { Steps } from './steps/steps.ts';

/** Node's is many times as fast. It skips what it does not know: only a text that it would write itself is the one for its bytes. */
function codecOfNode(node: typeof Buffer): Base64urlCodec {
  const view = ({ buffer, byteOffset, length }: Uint8Array) => node.from(buffer, byteOffset, length);
  return {
    encode: (bytes) => view(bytes).toString('base64url'),
    decode(text, bytes) {
      const written = view(bytes);
      return written.write(text, 'base64url') === bytes.length && written.toString('base64url') === text;
    },
  };
}

/** What is not ASCII is no letter of the alphabet, a byte order mark neither. */
const ascii = new TextDecoder('utf-8', { ignoreBOM: true });
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

/** Characters between two yields, in fours: some tenths of a millisecond. Shorter texts are not worth a table. */
const sliceLength = 65_536;

/**
 * `decodeBase64url` in slices, for long texts in UTF-8; not natively, as Node wants a string, whose memory costs more than to read it. The bytes
 * may take the place of the text.
 */
export function* decodeBase64urlInSteps(text: Uint8Array, inPlace = false): Steps<Uint8Array | undefined> {
  if (text.length <= sliceLength) return decodeBase64url(ascii.decode(text));
  const length = lengthFor(text.length);
  if (length === undefined) return undefined;
  const bytes = inPlace ? text.subarray(0, length) : new Uint8Array(length);
  const [from, to] = [viewOf(text), viewOf(bytes)];
  // The last four or more characters stand for the last bytes.
  const last = (Math.ceil(text.length / 4) - 2) * 4;
  const rest = decodeBase64url(ascii.decode(text.subarray(last)));
  if (rest === undefined) return undefined;
  for (let at = 0; at < last; at += sliceLength) {
    if (!decodeFours(from, to, at, Math.min(at + sliceLength, last))) return undefined;
    yield;
  }
  bytes.set(rest, length - rest.length);
  return bytes;
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** How many bytes a text of that length stands for. */
function lengthFor(length: number): number | undefined {
  return length % 4 === 1 ? undefined : Math.floor((length * 3) / 4);
}
