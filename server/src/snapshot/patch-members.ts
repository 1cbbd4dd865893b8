import type { Member } from './role-snapshot.ts';

/**
 * The members of a role after a change, sorted by name: `fresh` are all of those that are called one of `names`, the others are those of
 * `previous`. Answers `previous` itself when nothing of it changes. Pure.
 */
export function patchMembers(
  previous: readonly Member[],
  fresh: readonly Member[],
  names: readonly string[],
): readonly Member[] {
  const found = new Map(fresh.map((member) => [member.name, member]));
  let members: Member[] | undefined;
  for (const name of names) {
    const current = members ?? previous;
    const at = placeOf(current, name);
    const known = current[at]?.name === name;
    const member = found.get(name);
    if (!known && member === undefined) continue;
    members ??= [...previous];
    members.splice(at, known ? 1 : 0, ...(member === undefined ? [] : [member]));
  }
  return members ?? previous;
}

/** Where the name stands, or would have to. */
function placeOf(members: readonly Member[], name: string): number {
  let [low, high] = [0, members.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((members[middle]?.name ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
