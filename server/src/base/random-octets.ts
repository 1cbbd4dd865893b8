import { randomBytes, randomFillSync } from 'node:crypto';

const blockOctets = 1536;
/** Serial numbers take a few; what is longer may be a secret, and is drawn on its own. */
const sharedOctets = 16;

/** Random octets like those of Node's `randomBytes`. A few are cut from a block, each octet once: a call for a few costs as much as one for many. */
export function randomOctets(): (size: number) => Buffer {
  const block = Buffer.alloc(blockOctets);
  let at = block.length;
  return (size) => {
    if (size > sharedOctets) return randomBytes(size);
    if (at + size > block.length) {
      randomFillSync(block);
      at = 0;
    }
    const octets = Buffer.from(block.subarray(at, at + size));
    at += size;
    return octets;
  };
}
