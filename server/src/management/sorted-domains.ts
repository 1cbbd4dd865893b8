import type { DomainName } from '@signet/policy-engine/names';
import { type Steps, sliceLength } from '../steps/steps.ts';

/** Requested part of a list: at most `limit` items of those whose keys come after `after`. */
export interface ListPage {
  readonly after: string;
  readonly limit: number;
}

/** Domains in the order of the keys of their items, which are JSON arrays with the domain in front, with what these begin with. */
export function sortedDomains(names: Iterable<DomainName>): (readonly [DomainName, string])[] {
  return Array.from(names, (name) => [name, `${JSON.stringify([name]).slice(0, -1)},`] as const).sort(([, a], [, b]) =>
    a < b ? -1 : 1,
  );
}

/** The items whose keys come after `after`, sorted. */
export function* behind<Item>(after: string, items: readonly Item[], keyOf: (item: Item) => string): Steps<Item[]> {
  const keyed: (readonly [key: string, item: Item])[] = [];
  for (const [index, item] of items.entries()) {
    if (index % sliceLength === 0) yield;
    const key = keyOf(item);
    if (key > after) keyed.push([key, item]);
  }
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}
