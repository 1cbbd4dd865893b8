/** The hash of a text without characters. */
export const emptyHash = 0;

/** The hash of a text, before `finishHash`, with one more code unit. */
export function addToHash(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

/** A number of 31 bits, whose lower ones depend on all units. */
export function finishHash(hash: number): number {
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}

/** In place of a hash. */
export const hasCapitals = -1;

const [capitalA, capitalZ] = [0x41, 0x5a];

/** The hash of the text from there on; `hasCapitals` for one that is not folded. */
export function hashFolded(text: string, from: number): number {
  let hash = emptyHash;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit <= capitalZ && unit >= capitalA) return hasCapitals;
    hash = addToHash(hash, unit);
  }
  return finishHash(hash);
}
