/* Conversion between rows (0 and 1, null) and records (booleans, absent members). */

export function flag(value: boolean): number {
  return value ? 1 : 0;
}

export function orNull<Value>(value: Value | undefined): Value | null {
  return value ?? null;
}

/** `{ [key]: value }`, or nothing when the column is null. For spreading. */
export function optional<Key extends string, Value>(key: Key, value: Value | null): { readonly [K in Key]?: Value } {
  return value === null ? {} : ({ [key]: value } as { readonly [K in Key]?: Value });
}

/** Rows by the value of one column. */
export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

/** Pieces of at most `size`: databases limit the parameters of one statement. */
export function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

export function byDomain<Row extends { readonly domain: string }, Item>(
  rows: readonly Row[],
  toItem: (row: Row) => Item,
): ReadonlyMap<string, Item[]> {
  return new Map([...groupBy(rows, ({ domain }) => domain)].map(([domain, group]) => [domain, group.map(toItem)]));
}
