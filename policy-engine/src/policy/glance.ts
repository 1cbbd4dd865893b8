import type { CompiledAssertion } from './assertion.ts';
import { type GlobParts, globParts } from './glob-parts.ts';
import type { Pattern } from './pattern.ts';

/**
 * What is seen of a question without a search: the assertion that decides; `null`: that there is none; `undefined`: that takes a search. Most
 * callers have one role and most assertions compare texts alone: to make a search would take longer than to answer.
 */
export type Glance = CompiledAssertion | null | undefined;

/** Whether something matches; `undefined` where it takes more than a comparison of texts as they are given, as with capitals. */
export type Match = boolean | undefined;

/** More than so many at one place are left to a search, which counts what it costs, and so are texts of more characters. */
export const longestLook = 16;
export const longestText = 128;

/** Of two glances at parts of a policy, what decides. */
export function earlier(one: Glance, other: Glance): Glance {
  if (one === undefined || other === undefined) return undefined;
  if (one === null) return other;
  if (other === null) return one;
  return (one.precedence - other.precedence || one.rank - other.rank) < 0 ? one : other;
}

/** Whether an assertion is for the only role of a caller, under all conditions. */
export function isForRole({ role, rolePattern, conditions }: CompiledAssertion, held: string): Match {
  const isHeld = rolePattern === undefined ? role === held : matchesGiven(rolePattern, held, 0);
  return isHeld !== false && conditions.kind !== 'none' ? undefined : isHeld;
}

/** Whether a pattern, which is folded if case does not count, matches a text from there on. */
export function matchesGiven(pattern: Pattern, text: string, from: number): Match {
  const { kind, text: wanted } = pattern;
  if (kind === 'any') return true;
  if (kind === 'glob') return matchesGlobGiven(pattern, text, from);
  return kind === 'exact' ? isGiven(wanted, text) : beginsAt(wanted, text, from);
}

/** Whether a text, which is folded, is the one that is given. */
export function isGiven(wanted: string, given: string): Match {
  if (wanted.length !== given.length) return false;
  // Most names differ in their ends, which takes less time than to compare the whole of them.
  const last = given.charCodeAt(given.length - 1);
  if (last !== wanted.charCodeAt(wanted.length - 1)) return isCapital(last) ? undefined : false;
  return wanted === given || beginsAt(wanted, given, 0);
}

/** Whether a glob matches a text from there on. */
export function matchesGlobGiven(glob: Pattern, text: string, from: number): Match {
  if (text.length - from > longestText) return undefined;
  if (glob.parts === null) glob.parts = globParts(glob.text);
  return glob.parts && holdsParts(glob.parts, text, from);
}

/** Whether the parts of a glob stand in a text in their order, the first and the last at its ends. */
function holdsParts(parts: GlobParts, text: string, from: number): Match {
  const first = parts[0] ?? '';
  const last = parts[parts.length - 1] ?? '';
  const end = text.length - last.length;
  let at = from + first.length;
  if (end < at) return false;
  const isAtEnds = beginsAt(last, text, end) && beginsAt(first, text, from);
  if (!isAtEnds) return isAtEnds;
  for (let index = 1; index < parts.length - 1; index += 1) {
    const part = parts[index] ?? '';
    const found = text.indexOf(part, at);
    if (found < 0) return unlessCapitals(text);
    at = found + part.length;
  }
  return at <= end || unlessCapitals(text);
}

/** False for a text without capitals. The runtime looks at a whole text in less time than it takes to look at its characters one by one. */
function unlessCapitals(text: string): Match {
  return text.toLowerCase() === text ? false : undefined;
}

/** From the end of what is wanted: the names of one policy differ there. */
function beginsAt(wanted: string, given: string, from: number): Match {
  if (wanted.length > given.length - from) return false;
  for (let at = wanted.length - 1; at >= 0; at -= 1) {
    const unit = given.charCodeAt(from + at);
    if (unit !== wanted.charCodeAt(at)) return isCapital(unit) ? undefined : false;
  }
  return true;
}

const [capitalA, capitalZ] = [0x41, 0x5a];

function isCapital(unit: number): boolean {
  return unit >= capitalA && unit <= capitalZ;
}
