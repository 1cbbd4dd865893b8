import { sql } from 'kysely';

/** Page limit for audit records: characters of their texts before and after, or a single record. */
export const maxPageCharacters = 1_000_000;

/** Length in bytes, which is known without reading the texts: the characters of a page of large records are gigabytes. */
export const lengthOfSides = sql<number>`coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)`.as(
  'length',
);

/** How many of the first ones are read at once, one at the least. */
export function fitting(lengths: readonly number[], maxCharacters = maxPageCharacters): number {
  let sum = 0;
  const past = lengths.findIndex((length, index) => {
    sum += length;
    return index > 0 && sum > maxCharacters;
  });
  return past < 0 ? lengths.length : past;
}
