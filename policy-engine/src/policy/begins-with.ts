const { startsWith, endsWith } = String.prototype;

/**
 * Whether a text begins with another. Which function is called is chosen at each call, so that the compiler does not look into it: its own form
 * of `startsWith` takes twice as long on a text that was just put together, and `indexOf` a fifth longer (record 091).
 */
export function beginsWith(text: string, beginning: string): boolean {
  // A text that is shorter neither begins nor ends with it.
  const compare = text.length < beginning.length ? endsWith : startsWith;
  return compare.call(text, beginning);
}
