/** The bytes of an answer. Throws as soon as there are more than `maxBytes`, and reads no more of it then. */
export async function readAtMost(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
