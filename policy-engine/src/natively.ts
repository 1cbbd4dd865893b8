/** The core runs in browsers too, where the global is missing. */
export const { Buffer: nodeBuffer }: { readonly Buffer?: typeof Buffer } = globalThis;

/** The same bytes, which Node searches many times as fast where it is there. */
export function natively(bytes: Uint8Array): Uint8Array {
  return nodeBuffer === undefined ? bytes : nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
