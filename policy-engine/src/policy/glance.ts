import type { CompiledAssertion } from './assertion.ts';
import type { Pattern } from './pattern.ts';

/**
 * What is seen of a question without a search: the assertion that decides, or that there is none. `undefined`: that takes a search. Most
 * callers have one role and most assertions compare texts alone: to make a search would take longer than to answer.
 */
export type Glance = CompiledAssertion | 'none' | undefined;

/** Whether something matches; `undefined` where it takes more than a comparison of texts as they are given, as with capitals. */
export type Match = boolean | undefined;

/** Whether an assertion is for the only role of a caller, under all conditions. */
export function isForRole({ role, rolePattern, conditions }: CompiledAssertion, held: string): Match {
  const isHeld = rolePattern === undefined ? role === held : matchesGiven(rolePattern, held, 0);
  return isHeld !== false && conditions.kind !== 'none' ? undefined : isHeld;
}

/** Whether a pattern, which is folded if case does not count, matches a text from there on. */
export function matchesGiven({ kind, text: wanted }: Pattern, text: string, from: number): Match {
  if (kind === 'any') return true;
  if (kind === 'glob') return undefined;
  return kind === 'exact' ? isGiven(wanted, text) : beginsAt(wanted, text, from);
}

/** Whether a text, which is folded, is the one that is given. */
export function isGiven(wanted: string, given: string): Match {
  return wanted === given || (wanted.length === given.length && beginsAt(wanted, given, 0));
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
