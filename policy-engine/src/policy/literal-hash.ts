/* Numbers for the literals of patterns, of which a text is asked for many at once: each goes on where a shorter one ends. */

export const emptyLiteral = 0x811c9dc5 | 0;

/** The hash with one more unit; its lower bits depend on all units. */
export function hashedUnit(hash: number, unit: number): number {
  const next = Math.imul(hash ^ unit, 0x01000193);
  return next ^ (next >>> 15);
}

/** The hash of a text up to `end`, from the one up to `from`. */
export function hashed(hash: number, text: string, from: number, end: number): number {
  let next = hash;
  for (let at = from; at < end; at += 1) next = hashedUnit(next, text.charCodeAt(at));
  return next;
}

const [capitalA, capitalZ] = [0x41, 0x5a];

/** The same of a text without capitals there; `undefined` for one that has some. */
export function hashedFolded(hash: number, text: string, from: number, end: number): number | undefined {
  let next = hash;
  for (let at = from; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit <= capitalZ && unit >= capitalA) return undefined;
    next = hashedUnit(next, unit);
  }
  return next;
}

/** As `hashed`, read from `end` to `from`. */
export function hashedBackwards(hash: number, text: string, from: number, end: number): number {
  let next = hash;
  for (let at = end - 1; at >= from; at -= 1) next = hashedUnit(next, text.charCodeAt(at));
  return next;
}

/** As `hashedFolded`, read from `end` to `from`. */
export function hashedFoldedBackwards(hash: number, text: string, from: number, end: number): number | undefined {
  let next = hash;
  for (let at = end - 1; at >= from; at -= 1) {
    const unit = text.charCodeAt(at);
    if (unit <= capitalZ && unit >= capitalA) return undefined;
    next = hashedUnit(next, unit);
  }
  return next;
}

/** One bit for all units that have the lower five bits in common, as a letter and its capital have. */
export function unitBit(text: string, at: number): number {
  return 1 << (text.charCodeAt(at) & 31);
}

/** The bits of all units. */
export const anyUnit = -1;
