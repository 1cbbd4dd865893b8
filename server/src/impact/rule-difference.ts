import { type Atom, atomsOf } from './atoms.ts';

/** One rule that applies to somebody: an effect on every action and resource that its patterns match. */
export interface Rule {
  readonly effect: 'ALLOW' | 'DENY';
  readonly action: string;
  readonly resource: string;
}

/** A set of texts in words: what all of them match, and what none of them does. */
export interface TextSet {
  /** The narrowest patterns that match every text of the set; empty means that no pattern does. */
  readonly matching: readonly string[];
  /** Patterns that overlap the set's but match none of its texts. */
  readonly except: readonly string[];
}

/** A part of the space of requests whose answer changes. */
export interface Flip {
  readonly change: 'gain' | 'loss';
  readonly action: TextSet;
  readonly resource: TextSet;
  readonly example: { readonly action: string; readonly resource: string };
}

/**
 * Every (action, resource) whose answer differs between two rule sets, as disjoint parts with one example each: exact,
 * whatever the wildcards. DENY wins, and what no rule allows is denied. Throws `PatternsTooComplexError`.
 */
export function differenceOf(before: readonly Rule[], after: readonly Rule[]): Flip[] {
  return differencesOf([{ before, after }]).flat();
}

/** Two rule sets to compare. */
export interface RuleSets {
  readonly before: readonly Rule[];
  readonly after: readonly Rule[];
}

/** The same for several pairs over the same patterns, each cut into the same parts. */
export function differencesOf(pairs: readonly RuleSets[]): Flip[][] {
  const changed = pairs.flatMap(({ before, after }) => symmetricDifference(before, after));
  if (changed.length === 0) return pairs.map(() => []);
  const rules = pairs.flatMap(({ before, after }) => [...before, ...after]);
  const actions = axis(rules, changed, 'action');
  const resources = axis(rules, changed, 'resource');
  return pairs.map((pair) => flipsIn(pair, actions, resources));
}

/** A rule with the places of its patterns on the axes. */
interface Placed {
  readonly effect: Rule['effect'];
  readonly action: number;
  readonly resource: number;
}

function flipsIn({ before, after }: RuleSets, actions: Axis, resources: Axis): Flip[] {
  const place = (rules: readonly Rule[]) =>
    rules.map(({ effect, action, resource }): Placed => {
      return { effect, action: placeOf(actions, action), resource: placeOf(resources, resource) };
    });
  const [was, is, moved] = [place(before), place(after), place(symmetricDifference(before, after))];
  const flips: Flip[] = [];
  for (const action of actions.atoms) {
    const near = (rules: readonly Placed[]) => rules.filter((rule) => action.matches.has(rule.action));
    const nearMoved = near(moved);
    if (nearMoved.length === 0) continue;
    const [nearWas, nearIs] = [near(was), near(is)];
    for (const resource of resources.atoms) {
      if (!nearMoved.some((rule) => resource.matches.has(rule.resource))) continue;
      const isAllowed = allows(nearIs, resource);
      if (allows(nearWas, resource) === isAllowed) continue;
      flips.push({
        change: isAllowed ? 'gain' : 'loss',
        action: actions.describe(action),
        resource: resources.describe(resource),
        example: { action: action.example, resource: resource.example },
      });
    }
  }
  return flips;
}

function placeOf(along: Axis, pattern: string): number {
  return along.index.get(pattern) ?? -1;
}

function allows(rules: readonly Placed[], resource: Atom): boolean {
  const matching = rules.filter((rule) => resource.matches.has(rule.resource));
  return matching.some(({ effect }) => effect === 'ALLOW') && !matching.some(({ effect }) => effect === 'DENY');
}

interface Axis {
  readonly index: ReadonlyMap<string, number>;
  readonly atoms: readonly Atom[];
  describe(atom: Atom): TextSet;
}

/** Cuts one dimension into atoms, of which only those that a changed rule touches are kept. */
function axis(rules: readonly Rule[], changed: readonly Rule[], dimension: 'action' | 'resource'): Axis {
  const patterns = [...new Set(rules.map((rule) => rule[dimension]))];
  const index = new Map(patterns.map((pattern, position) => [pattern, position]));
  const touched = new Set(changed.map((rule) => index.get(rule[dimension])));
  const atoms = atomsOf(patterns, { allowEmpty: dimension === 'resource' });
  const kept = atoms.filter((atom) => [...atom.matches].some((position) => touched.has(position)));
  const extents = extentsOf(atoms);
  const described = new Map<Atom, TextSet>();
  const describeOnce = (atom: Atom) => {
    const known = described.get(atom) ?? describe(patterns, extents, atom);
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

function describe(patterns: readonly string[], extents: ReadonlyMap<number, readonly Atom[]>, atom: Atom): TextSet {
  const extent = (position: number) => extents.get(position) ?? [];
  const matched = [...atom.matches];
  const isNarrowest = (position: number) => {
    const own = extent(position);
    return !matched.some((rival) => {
      const theirs = extent(rival);
      return theirs.length < own.length && theirs.every((one) => one.matches.has(position));
    });
  };
  const narrowest = matched.filter(isNarrowest);
  // An atom of no pattern overlaps none either: whatever is named does not match it.
  const [first] = narrowest;
  const near = first === undefined ? new Set([...extents.values()].flat()) : extent(first);
  const overlapping = new Set<number>();
  for (const one of near) {
    if (one === atom || !narrowest.every((position) => one.matches.has(position))) continue;
    for (const position of one.matches) if (!atom.matches.has(position)) overlapping.add(position);
  }
  const except = patterns.filter((_, position) => overlapping.has(position));
  return { matching: narrowest.map((position) => patterns[position] ?? ''), except };
}

function symmetricDifference(before: readonly Rule[], after: readonly Rule[]): Rule[] {
  // Neither actions nor resources hold line ends.
  const keyOf = (rule: Rule) => `${rule.effect}\n${rule.action}\n${rule.resource}`;
  const [left, right] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))];
  return [...before.filter((rule) => !right.has(keyOf(rule))), ...after.filter((rule) => !left.has(keyOf(rule)))];
}
