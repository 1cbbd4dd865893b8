import type { Work } from './work.ts';

/** Parts between the stars of a glob that has no `?`. */
export type GlobParts = readonly string[];

/** Up to here texts are searched as the runtime does it, whose worst case is their product. */
const longestText = 256;

/** The parts of a glob that may be compared by them; `undefined` for one with `?` and a long one. */
export function globParts(glob: string): GlobParts | undefined {
  return glob.length > longestText || glob.includes('?') ? undefined : glob.split('*');
}

/** True if the parts stand in the text in their order, the first and the last at its ends; `undefined` for a long text. */
export function matchesParts(parts: GlobParts, text: string, work: Work): boolean | undefined {
  if (text.length > longestText) return undefined;
  const first = parts[0] ?? '';
  const last = parts[parts.length - 1] ?? '';
  const end = text.length - last.length;
  work.spend(first.length + last.length);
  if (end < first.length || !text.endsWith(last) || !text.startsWith(first)) return false;
  work.spend(end - first.length);
  let from = first.length;
  for (let at = 1; at < parts.length - 1; at += 1) {
    const part = parts[at] ?? '';
    const found = text.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return from <= end;
}
