/** Upper bound of compared names: the message is for people who mistyped one of a few. */
const maxCompared = 1000;

/**
 * `: did you mean `x`?` for the known name that differs least from this one, in two characters at most and in one of three; else the empty
 * string.
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  let bound = Math.min(2, Math.floor(name.length / 3));
  let nearest: string | undefined;
  let compared = 0;
  for (const candidate of known) {
    if (compared >= maxCompared) break;
    compared += 1;
    const distance = candidate === name ? Number.POSITIVE_INFINITY : editDistance(name, candidate, bound);
    if (distance > bound) continue;
    nearest = candidate;
    bound = distance - 1;
  }
  return nearest === undefined ? '' : `: did you mean \`${nearest}\`?`;
}

/** Characters added, removed, replaced or swapped with their neighbour (optimal string alignment); more than `bound`: infinity. */
function editDistance(one: string, other: string, bound: number): number {
  if (Math.abs(one.length - other.length) > bound) return Number.POSITIVE_INFINITY;
  let twoAbove: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(twoAbove, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    if (Math.min(...current) > bound) return Number.POSITIVE_INFINITY;
    [twoAbove, above] = [above, current];
  }
  return at(above, other.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
