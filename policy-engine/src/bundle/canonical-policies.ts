import type { Steps } from '../steps/steps.ts';
import type { WireAssertion, WireConditions, WirePolicy } from '../wire/index.ts';
import type { BundleOrigin } from './decode-payload.ts';

/** Name of the canonical form below, for bundles of Signet and of Athenz. Digests of different forms are never compared. */
const canonicalForm = 'policies-1';
export const athenzForm = 'athenz-1';

export function canonicalFormOf(origin: BundleOrigin): string {
  return origin === 'athenz' ? athenzForm : canonicalForm;
}

/** Lines between two yields. */
const sliceLength = 1024;

/**
 * The policies of a domain as text that is the same for the same policies, independent of the bundle's author and order (`docs/decisions/019`).
 * UTF-8 lines, each ended by a line feed, each JSON as `JSON.stringify` writes it: the name of the form and the domain; then for each policy a
 * line with its name, version and flags, followed by its assertions. Assertions are sorted by their text within a policy, policies by the text
 * of all their lines (by UTF-16 code units). An absent member is written as its default. Numbers of rows, times of change and members that are
 * not known are not part of it.
 */
export function* canonicalPolicies(
  domain: string,
  policies: readonly WirePolicy[],
  origin?: BundleOrigin,
): Steps<readonly Uint8Array[]> {
  const lines = [JSON.stringify([canonicalFormOf(origin), domain])];
  const byHead = yield* groupByHead(policies);
  for (const head of yield* sortInSteps([...byHead.keys()])) {
    const [only = [], ...others] = yield* linesOfAll(byHead.get(head) ?? []);
    if (others.length === 0) {
      lines.push(head);
      for (const own of only) lines.push(own);
    } else {
      // If the first line is the same, the others determine the order.
      const texts = [only, ...others].map((own) => [head, ...own].join('\n'));
      for (const text of yield* sortInSteps(texts)) lines.push(text);
    }
  }
  return yield* encodeInSteps(lines);
}

function* groupByHead(policies: readonly WirePolicy[]): Steps<Map<string, WirePolicy[]>> {
  const byHead = new Map<string, WirePolicy[]>();
  let count = 0;
  for (const policy of policies) {
    const head = headOf(policy);
    const same = byHead.get(head);
    if (same === undefined) byHead.set(head, [policy]);
    else same.push(policy);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return byHead;
}

function* linesOfAll(policies: readonly WirePolicy[]): Steps<(readonly string[])[]> {
  const all: (readonly string[])[] = [];
  for (const policy of policies) all.push(yield* canonicalAssertions(policy));
  return all;
}

function headOf({ name, version, active, caseSensitive }: WirePolicy): string {
  return JSON.stringify([name, version ?? '0', active ?? true, caseSensitive ?? false]);
}

function* canonicalAssertions({ assertions }: WirePolicy): Steps<readonly string[]> {
  const lines: string[] = [];
  for (const assertion of assertions) {
    lines.push(JSON.stringify(canonicalAssertion(assertion)));
    if (lines.length % sliceLength === 0) yield;
  }
  return yield* sortInSteps(lines);
}

function canonicalAssertion({ effect, role, action, resource, caseSensitive, conditions }: WireAssertion): unknown[] {
  return [effect, role, action, resource, caseSensitive ?? false, canonicalConditions(conditions)];
}

const noSets: unknown[] = [];

/** Sets and the conditions of a set in the order of their text; no conditions and an empty list are the same. */
function canonicalConditions(conditions: WireConditions | undefined): unknown[] {
  if (conditions === undefined) return noSets;
  const sets = conditions.conditionsList.map(({ conditionsMap }) =>
    Object.entries(conditionsMap)
      .map(([key, { operator, value }]) => [key, operator, value])
      .sort(byText),
  );
  return sets.sort(byText);
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

/** Sorts by code units: runs first, then each two neighbours become one. */
function* sortInSteps(lines: readonly string[]): Steps<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let from = 0; from < lines.length; from += sliceLength) {
    runs.push(lines.slice(from, from + sliceLength).sort());
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergeInSteps(runs[at] ?? [], runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSteps(left: readonly string[], right: readonly string[]): Steps<readonly string[]> {
  const merged: string[] = [];
  let [atLeft, atRight] = [0, 0];
  while (atLeft < left.length || atRight < right.length) {
    const [one, other] = [left[atLeft], right[atRight]];
    const takesLeft = other === undefined || (one !== undefined && one <= other);
    merged.push((takesLeft ? one : other) ?? '');
    if (takesLeft) atLeft += 1;
    else atRight += 1;
    if (merged.length % sliceLength === 0) yield;
  }
  return merged;
}

const encoder = new TextEncoder();

function* encodeInSteps(texts: readonly string[]): Steps<readonly Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for (let from = 0; from < texts.length; from += sliceLength) {
    parts.push(encoder.encode(`${texts.slice(from, from + sliceLength).join('\n')}\n`));
    yield;
  }
  return parts;
}
