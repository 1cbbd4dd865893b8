import type { Steps } from '../steps/steps.ts';

/** How many insertions are done between two yields. */
export const sliceLength = 256;

/** Groups values by a key; the groups are in the order of their first values. */
export function* groupInSteps<T, K>(values: readonly T[], keyOf: (value: T) => K): Steps<Map<K, T[]>> {
  const groups = new Map<K, T[]>();
  let count = 0;
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return groups;
}
