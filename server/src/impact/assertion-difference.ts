import { type Atom, atomsOf } from './atoms.ts';
import { Work } from './work.ts';

/** Assertion as applied to a principal: an effect on every action and resource that its patterns match. */
export interface Assertion {
  readonly effect: 'ALLOW' | 'DENY';
  readonly action: string;
  readonly resource: string;
}

/** A set of strings in words: what all of them match, and what none of them does. */
export interface TextSet {
  /** The narrowest patterns that match every text of the set; empty means that no pattern does. */
  readonly matching: readonly string[];
  /** Patterns that overlap the set's but match none of its strings. */
  readonly except: readonly string[];
}

/** A part of the space of requests whose answer changes. */
export interface Flip {
  readonly change: 'gain' | 'loss';
  readonly action: TextSet;
  readonly resource: TextSet;
  readonly example: { readonly action: string; readonly resource: string };
}

/** The same before it is put into words, which costs more than finding it. */
export interface PlacedFlip {
  readonly change: Flip['change'];
  readonly action: Atom;
  readonly resource: Atom;
}

/** Accesses that flip between two assertion sets. */
interface Difference {
  readonly flips: readonly PlacedFlip[];
  describe(flip: PlacedFlip): Flip;
}

interface AssertionSets {
  readonly before: readonly Assertion[];
  readonly after: readonly Assertion[];
}

/**
 * Every (action, resource) whose answer differs between two assertion sets, as disjoint parts with one example each: exact, whatever the
 * wildcards. DENY wins, and what no assertion allows is denied. Several pairs over the same patterns are cut into the same parts.
 * Throws `PatternsTooComplexError`, and what the work throws.
 */
export function differencesOf(pairs: readonly AssertionSets[], work: Work = new Work()): Difference[] {
  const assertions = pairs.flatMap(({ before, after }) => [...before, ...after]);
  work.spend(stepsPerAssertion * assertions.length);
  const changed = pairs.flatMap(({ before, after }) => symmetricDifference(before, after));
  if (changed.length === 0) return pairs.map(() => nothing);
  const actions = axis(assertions, changed, 'action', work);
  const resources = axis(assertions, changed, 'resource', work);
  const describe = ({ change, action, resource }: PlacedFlip): Flip => ({
    change,
    action: actions.describe(action),
    resource: resources.describe(resource),
    example: { action: action.example, resource: resource.example },
  });
  return pairs.map((pair) => ({ flips: flipsIn(pair, actions, resources, work), describe }));
}

const nothing: Difference = {
  flips: [],
  describe: () => {
    throw new Error('there is nothing to describe');
  },
};

/** An assertion is made a text, and its patterns are looked up. */
const stepsPerAssertion = 100;

/** An assertion with the places of its patterns on the axes. */
interface Placed {
  readonly effect: Assertion['effect'];
  readonly action: number;
  readonly resource: number;
}

function flipsIn({ before, after }: AssertionSets, actions: Axis, resources: Axis, work: Work): PlacedFlip[] {
  const place = (assertions: readonly Assertion[]) =>
    assertions.map(({ effect, action, resource }): Placed => {
      return { effect, action: placeOf(actions, action), resource: placeOf(resources, resource) };
    });
  const [was, is, moved] = [place(before), place(after), place(symmetricDifference(before, after))];
  const flips: PlacedFlip[] = [];
  for (const action of actions.atoms) {
    work.spend(1 + was.length + is.length + moved.length);
    const near = (assertions: readonly Placed[]) =>
      assertions.filter((assertion) => action.matches.has(assertion.action));
    const nearMoved = near(moved);
    if (nearMoved.length === 0) continue;
    const [nearWas, nearIs] = [near(was), near(is)];
    for (const resource of resources.atoms) {
      work.spend(1 + nearMoved.length);
      if (!nearMoved.some((assertion) => resource.matches.has(assertion.resource))) continue;
      work.spend(nearWas.length + nearIs.length);
      const isAllowed = allows(nearIs, resource);
      if (allows(nearWas, resource) === isAllowed) continue;
      work.keep(1);
      flips.push({ change: isAllowed ? 'gain' : 'loss', action, resource });
    }
  }
  return flips;
}

function placeOf(along: Axis, pattern: string): number {
  return along.index.get(pattern) ?? -1;
}

function allows(assertions: readonly Placed[], resource: Atom): boolean {
  const matching = assertions.filter((assertion) => resource.matches.has(assertion.resource));
  return matching.some(({ effect }) => effect === 'ALLOW') && !matching.some(({ effect }) => effect === 'DENY');
}

interface Axis {
  readonly index: ReadonlyMap<string, number>;
  readonly atoms: readonly Atom[];
  describe(atom: Atom): TextSet;
}

/** Cuts one dimension into atoms, of which only those that a changed assertion touches are kept. */
function axis(
  assertions: readonly Assertion[],
  changed: readonly Assertion[],
  dimension: 'action' | 'resource',
  work: Work,
): Axis {
  const patterns = [...new Set(assertions.map((assertion) => assertion[dimension]))];
  const index = new Map(patterns.map((pattern, position) => [pattern, position]));
  const touched = new Set(changed.map((assertion) => index.get(assertion[dimension])));
  const atoms = atomsOf(patterns, { allowEmpty: dimension === 'resource', work });
  const kept = atoms.filter((atom) => [...atom.matches].some((position) => touched.has(position)));
  const extents = extentsOf(atoms);
  const described = new Map<Atom, TextSet>();
  const describeOnce = (atom: Atom) => {
    const known = described.get(atom) ?? describe(patterns, extents, atom, work);
    described.set(atom, known);
    return known;
  };
  return { index, atoms: kept, describe: describeOnce };
}

/** The atoms of each pattern, by its index. */
function extentsOf(atoms: readonly Atom[]): ReadonlyMap<number, readonly Atom[]> {
  const extents = new Map<number, Atom[]>();
  for (const atom of atoms) {
    for (const position of atom.matches) {
      const extent = extents.get(position);
      if (extent === undefined) extents.set(position, [atom]);
      else extent.push(atom);
    }
  }
  return extents;
}

function describe(
  patterns: readonly string[],
  extents: ReadonlyMap<number, readonly Atom[]>,
  atom: Atom,
  work: Work,
): TextSet {
  const extent = (position: number) => extents.get(position) ?? [];
  const matched = [...atom.matches];
  const isNarrowest = (position: number) => {
    const own = extent(position);
    return !matched.some((rival) => {
      const theirs = extent(rival);
      work.spend(1 + (theirs.length < own.length ? theirs.length : 0));
      return theirs.length < own.length && theirs.every((one) => one.matches.has(position));
    });
  };
  const narrowest = matched.filter(isNarrowest);
  // An atom of no pattern overlaps none either: whatever is named does not match it.
  const [first] = narrowest;
  const near = first === undefined ? new Set([...extents.values()].flat()) : extent(first);
  const overlapping = new Set<number>();
  for (const one of near) {
    work.spend(narrowest.length + one.matches.size);
    if (one === atom || !narrowest.every((position) => one.matches.has(position))) continue;
    for (const position of one.matches) if (!atom.matches.has(position)) overlapping.add(position);
  }
  const except = patterns.filter((_, position) => overlapping.has(position));
  return { matching: narrowest.map((position) => patterns[position] ?? ''), except };
}

function symmetricDifference(before: readonly Assertion[], after: readonly Assertion[]): Assertion[] {
  // Neither actions nor resources hold line ends.
  const keyOf = (assertion: Assertion) => `${assertion.effect}\n${assertion.action}\n${assertion.resource}`;
  const [left, right] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))];
  return [
    ...before.filter((assertion) => !right.has(keyOf(assertion))),
    ...after.filter((assertion) => !left.has(keyOf(assertion))),
  ];
}
