import type { DocumentProblem } from '../../errors.ts';

/** Maximum of reported problems of one document or body: more of them have another cause. */
export const maxProblems = 20;

/** The order of problems in one file. */
export function byPlace(a: DocumentProblem, b: DocumentProblem): number {
  return a.line - b.line || a.column - b.column;
}

/**
 * Place of a part of a domain in its document. `path` has names as they are stored: a document may write them in capitals, and has the members
 * of a role in its own order. Ends with the first part that the document does not have.
 */
export function placeOf(document: unknown, path: readonly string[]): PropertyKey[] {
  const place: PropertyKey[] = [];
  let part = document;
  for (const name of path) {
    const next = step(part, name);
    place.push(next?.key ?? name);
    if (next === undefined) break;
    part = next.value;
  }
  return place;
}

/** Places of assertions: a policy is an array of them, or has versions. The policies are looked up once, however many are asked for. */
export function assertionPlaces(
  document: unknown,
): (policy: { readonly name: string; readonly version: string }, index: number) => PropertyKey[] {
  const policies = Object.entries(step(document, 'policies')?.value ?? {});
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

/** The parts of lists and mappings by their names in small letters. Each is sorted out once: a document may have a hundred thousand to place. */
const known = new WeakMap<object, ReadonlyMap<string, Step>>();

function step(part: unknown, name: string): Step | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const steps = known.get(part) ?? stepsOf(part);
  known.set(part, steps);
  return steps.get(name.toLowerCase());
}

function stepsOf(part: object): ReadonlyMap<string, Step> {
  const steps = new Map<string, Step>();
  const add = (name: string | undefined, found: Step) => {
    const folded = name?.toLowerCase();
    if (folded !== undefined && !steps.has(folded)) steps.set(folded, found);
  };
  if (Array.isArray(part)) for (const [key, value] of part.entries()) add(nameOf(value), { key, value });
  else for (const [key, value] of Object.entries(part)) add(key, { key, value });
  return steps;
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const [, name] = Object.entries(value).find(([key]) => key.toLowerCase() === 'name') ?? [];
  return typeof name === 'string' ? name : undefined;
}
