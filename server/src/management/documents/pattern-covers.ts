import type { Work } from '@signet/policy-engine/policy';

const star = '*';

/**
 * True if a pattern matches everything that another one (or a text) matches; false where that is not certain. Case-sensitive. The time is
 * bounded by the product of their lengths; the cost is charged to `work`, in units of about one compared character.
 */
export function coversPattern(wide: string, narrow: string, work?: Work): boolean {
  if (wide === star || wide === narrow) return true;
  if (!/[*?]/.test(wide)) return false;
  work?.spend(wide.length + narrow.length);
  const [pattern, text] = [Array.from(wide), Array.from(narrow)];
  // Prefixes of the pattern that cover the text so far: only a star of its own covers a star of the text.
  let covering = new Set([0]);
  const withStars = (places: ReadonlySet<number>) => {
    const all = new Set(places);
    for (const place of all) if (pattern[place] === star) all.add(place + 1);
    return all;
  };
  for (const character of text) {
    const next = new Set<number>();
    const places = withStars(covering);
    work?.spend(places.size);
    for (const place of places) {
      const wanted = pattern[place];
      if (wanted === star) next.add(place);
      else if (wanted === character || (wanted === '?' && character !== star)) next.add(place + 1);
    }
    covering = next;
  }
  return withStars(covering).has(pattern.length);
}
