import { type Steps, sliceLength } from './steps.ts';

/** The texts sorted by code units, as `sort` does, in steps: runs of a slice are sorted, and merged pairwise. */
export function* sortedInSteps(texts: Iterable<string>): Steps<string[]> {
  let runs: string[][] = [];
  let run: string[] = [];
  for (const text of texts) {
    run.push(text);
    if (run.length < sliceLength) continue;
    runs.push(run.sort());
    run = [];
    yield;
  }
  runs.push(run.sort());
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergedInSteps(runs[at] ?? [], runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSteps(left: readonly string[], right: readonly string[]): Steps<string[]> {
  const merged: string[] = [];
  let [fromLeft, fromRight] = [0, 0];
  for (;;) {
    if (merged.length % sliceLength === 0) yield;
    const [a, b] = [left[fromLeft], right[fromRight]];
    if (a !== undefined && (b === undefined || a <= b)) {
      merged.push(a);
      fromLeft += 1;
    } else if (b !== undefined) {
      merged.push(b);
      fromRight += 1;
    } else {
      return merged;
    }
  }
}
