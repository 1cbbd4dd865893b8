/**
 * Options of an `LRUCache` that forgets the eldest of more than `count` entries and takes memory as it fills; with `max` it takes the memory of
 * `count` entries when it is made.
 */
export function atMost(count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
