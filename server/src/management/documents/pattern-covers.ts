const star = '*';

/**
 * Whether a pattern matches whatever another one (or a text) matches; false where that is not certain. Case counts. The time is bounded by
 * the product of their lengths.
 */
export function coversPattern(wide: string, narrow: string): boolean {
  if (wide === star || wide === narrow) return true;
  if (!/[*?]/.test(wide)) return false;
  const [pattern, text] = [Array.from(wide), Array.from(narrow)];
  // Which beginnings of the pattern cover the text so far: only a star of its own covers a star of the text.
  let covering = new Set([0]);
  const withStars = (places: ReadonlySet<number>) => {
    const all = new Set(places);
    for (const place of all) if (pattern[place] === star) all.add(place + 1);
    return all;
  };
  for (const character of text) {
    const next = new Set<number>();
    for (const place of withStars(covering)) {
      const wanted = pattern[place];
      if (wanted === star) next.add(place);
      else if (wanted === character || (wanted === '?' && character !== star)) next.add(place + 1);
    }
    covering = next;
  }
  return withStars(covering).has(pattern.length);
}
