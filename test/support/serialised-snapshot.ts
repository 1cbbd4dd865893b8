import { KeyObject } from 'node:crypto';
import type { Snapshot } from '@signet/server/snapshot/snapshot';

/**
 * Content of a snapshot, as one text: two snapshots with the same text answer every query in the same way. Compiled policies are replaced by
 * their source; counters of use are left out.
 */
export function serialisedSnapshot({ domain: _, ...snapshot }: Snapshot): string {
  return JSON.stringify(plain(snapshot), undefined, 1);
}

/** Counters and caches of policy evaluation. */
const uses = new Set(['overruns', 'work', 'decision']);

function plain(value: unknown): unknown {
  if (value === undefined || value === null || typeof value !== 'object') return plainLeaf(value);
  if (value instanceof KeyObject) return value.export({ format: 'jwk' });
  if (value instanceof Set) return ['set', ...[...value].map(plain).sort(compareTexts)];
  if (isMap(value)) return ['map', ...[...value.entries()].map(plain).sort(compareTexts)];
  if (isIterable(value)) return ['list', ...[...value].map(plain)];
  const known = fieldsOf(value).filter(([key, entry]) => !uses.has(key) && typeof entry !== 'function');
  const shown = known
    .sort(compareTexts)
    .map(([key, entry]) => [key, key === 'groupDomains' ? sorted(entry) : plain(entry)]);
  return Object.fromEntries(shown);
}

/** Own fields, and those of the class's getters. */
function fieldsOf(value: object): [string, unknown][] {
  const getters = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(value)))
    .filter(([name, { get }]) => get !== undefined && name !== '__proto__')
    .map(([name]): [string, unknown] => [name, Reflect.get(value, name)]);
  return [...Object.entries(value), ...getters];
}

/** A list whose order means nothing. */
function sorted(list: unknown): unknown {
  return Array.isArray(list) ? list.map(plain).sort(compareTexts) : plain(list);
}

/** Numbers that JSON does not know stay apart from each other. */
function plainLeaf(value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? `number ${value}` : value;
}

function isMap(value: object): value is ReadonlyMap<unknown, unknown> {
  return 'get' in value && 'entries' in value && 'forEach' in value;
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}

function compareTexts(a: unknown, b: unknown): number {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
