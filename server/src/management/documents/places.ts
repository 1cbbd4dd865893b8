import type { DocumentProblem } from '../../errors.ts';

/** At most how many problems of one document or body are reported: whoever sent more than that has another kind of mistake. */
export const maxProblems = 20;

/** The order of problems in one file. */
export function byPlace(a: DocumentProblem, b: DocumentProblem): number {
  return a.line - b.line || a.column - b.column;
}

/**
 * Where a part of a domain stands in its document. `path` has names as they are stored: a document may write them in capitals, and has
 * the members of a role in its own order. Ends with the first part that the document does not have.
 */
export function placeOf(document: unknown, path: readonly string[]): PropertyKey[] {
  const place: PropertyKey[] = [];
  let part = document;
  for (const name of path) {
    const step = Array.isArray(part) ? item(part, name) : entry(part, name);
    place.push(step?.key ?? name);
    if (step === undefined) break;
    part = step.value;
  }
  return place;
}

/** Where assertions stand: a policy is an array of them, or has versions. The policies are looked up once, however many are asked for. */
export function assertionPlaces(
  document: unknown,
): (policy: { readonly name: string; readonly version: string }, index: number) => PropertyKey[] {
  const policies = Object.entries(entry(document, 'policies')?.value ?? {});
  const found = new Map(policies.map(([key, value]) => [key.toLowerCase(), { key, isList: Array.isArray(value) }]));
  return ({ name, version }, index) => {
    const { key = name, isList = true } = found.get(name) ?? {};
    return isList ? ['policies', key, index] : ['policies', key, 'versions', version, index];
  };
}

interface Step {
  readonly key: PropertyKey;
  readonly value: unknown;
}

function item(list: readonly unknown[], name: string): Step | undefined {
  const key = list.findIndex((value) => nameOf(value)?.toLowerCase() === name);
  return key < 0 ? undefined : { key, value: list[key] };
}

function entry(mapping: unknown, name: string): Step | undefined {
  if (typeof mapping !== 'object' || mapping === null) return undefined;
  const found = Object.entries(mapping).find(([key]) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : { key: found[0], value: found[1] };
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const name = entry(value, 'name')?.value;
  return typeof name === 'string' ? name : undefined;
}
