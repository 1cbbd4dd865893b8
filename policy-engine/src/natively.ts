/** The core runs in browsers too, where the global is missing. */
export const { Buffer: nodeBuffer }: { readonly Buffer?: typeof Buffer } = globalThis;

/** The same bytes, which Node searches many times as fast where it is there. */
export function natively(bytes: Uint8Array): Uint8Array {
  return nodeBuffer === undefined ? bytes : nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

const decoder = new TextDecoder();

/** Reads texts between two places of the bytes, where these are ASCII. */
export function asciiIn(bytes: Uint8Array): (from: number, to: number) => string {
  if (nodeBuffer === undefined) return (from, to) => decoder.decode(bytes.subarray(from, to));
  const view = nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return (from, to) => view.toString('latin1', from, to);
}
