/** What a hash is multiplied with for each code unit; it begins with nought. */
const factor = 0x01000193;

/** A number of 31 bits, whose lower ones depend on all units. */
function finish(hash: number): number {
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}

/** In place of a hash. */
export const hasCapitals = -1;

const [capitalA, capitalZ] = [0x41, 0x5a];

/** The hash of the text from there on; `hasCapitals` for one that is not folded. */
export function hashFolded(text: string, from: number): number {
  let hash = 0;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit <= capitalZ && unit >= capitalA) return hasCapitals;
    hash = Math.imul(hash ^ unit, factor);
  }
  return finish(hash);
}

/** The place of a name among 32, the same for a letter and its capital: few names have their length and their last unit in common. */
export function placeOfName(length: number, lastUnit: number): number {
  return (length * 5 + lastUnit) & 31;
}
