import { foldAscii } from '../names/index.ts';
import { type GlobParts, globParts, matchesParts } from './glob-parts.ts';
import { maxPatternLength, maxWildcards, unlimited, type Work } from './work.ts';

/** Kinds of comparison: `*` alone, no wildcard, one `*` at the end only, or anything else. */
type PatternKind = 'any' | 'exact' | 'prefix' | 'glob';

/** A pattern whose kind was found once, so that most comparisons need not look for wildcards. */
export interface Pattern {
  readonly kind: PatternKind;
  /** The literal text for `exact` and `prefix`, the whole pattern for `glob`. */
  readonly text: string;
  /** Parts of a `glob` that may be compared by them; `null` until it is first compared. */
  parts?: GlobParts | undefined | null;
}

/** A part of a pattern without wildcards, and where it stands in every text that matches. */
export interface Literal {
  readonly position: 'start' | 'inside' | 'end';
  readonly text: string;
}

const star = 0x2a;
const questionMark = 0x3f;

/** True when the text holds a wildcard: `*` or `?`. There is no way to escape one. */
export function isPattern(text: string): boolean {
  return text.includes('*') || text.includes('?');
}

/** Reason why a text is not accepted as a pattern, or undefined. */
export function patternProblem(text: string): string | undefined {
  // A wildcard's match would depend on how the text is walked through.
  if (!text.isWellFormed()) return 'half a surrogate pair is not a character';
  return isPattern(text) ? wildcardProblem(text) : undefined;
}

function wildcardProblem(text: string): string | undefined {
  if (text.length > maxPatternLength) return `a pattern must have at most ${maxPatternLength} characters`;
  let wildcards = 0;
  for (let at = 0; at < text.length; at += 1) if (isWildcard(text.charCodeAt(at))) wildcards += 1;
  return wildcards > maxWildcards ? `a pattern must have at most ${maxWildcards} wildcards` : undefined;
}

function isWildcard(unit: number): boolean {
  return unit === star || unit === questionMark;
}

/** Compiles a pattern. The case is kept: fold first where case is ignored. */
export function compilePattern(text: string): Pattern {
  if (text === '*') return { kind: 'any', text: '' };
  if (!isPattern(text)) return { kind: 'exact', text };
  const wildcard = text.search(/[*?]/);
  if (wildcard === text.length - 1 && text.charCodeAt(wildcard) === star) {
    return { kind: 'prefix', text: text.slice(0, wildcard) };
  }
  return { kind: 'glob', text, parts: null };
}

/** The literals before the first wildcard and behind the last one, and the longest between two wildcards, as far as there are any. */
export function literalsOf({ kind, text }: Pattern): readonly Literal[] {
  if (kind !== 'glob') return text === '' ? [] : [{ position: 'start', text }];
  const parts = text.split(/[*?]/);
  const inner = parts.slice(1, -1).reduce((longest, part) => (part.length > longest.length ? part : longest), '');
  const literals: readonly Literal[] = [
    { position: 'start', text: parts[0] ?? '' },
    { position: 'inside', text: inner },
    { position: 'end', text: parts.at(-1) ?? '' },
  ];
  return literals.filter((literal) => literal.text !== '');
}

/** True if a compiled pattern matches the whole text. The cost of a glob is charged to `work`. */
export function patternMatches(pattern: Pattern, text: string, work: Work = unlimited): boolean {
  switch (pattern.kind) {
    case 'any':
      return true;
    case 'exact':
      return pattern.text === text;
    case 'prefix':
      return matchesPrefix(pattern.text, text, work);
    case 'glob':
      if (!fitsAtEnds(pattern.text, text)) return false;
      if (pattern.parts === null) pattern.parts = globParts(pattern.text);
      return matchesGlob(pattern.text, pattern.parts, text, work);
  }
}

/** Compares a prefix. A different last character costs nothing: most of many roles and prefixes differ there. */
function matchesPrefix(prefix: string, text: string, work: Work): boolean {
  const last = prefix.length - 1;
  if (text.charCodeAt(last) !== prefix.charCodeAt(last)) return false;
  work.spend(prefix.length);
  return startsWith(text, prefix);
}

/** Result of `matchesPattern`, from the parts of the pattern where it has them and the text is short. */
function matchesGlob(glob: string, parts: GlobParts | undefined, text: string, work: Work): boolean {
  return (parts && matchesParts(parts, text, work)) ?? globMatches(glob, text, work);
}

/** Up to here characters are compared faster than a call takes. */
const shortPrefix = 32;

/** Replacement of the string method, for short texts. */
function startsWith(text: string, prefix: string): boolean {
  if (prefix.length > shortPrefix) return text.startsWith(prefix);
  if (prefix.length > text.length) return false;
  // Compared from its end: prefixes of one policy differ there.
  for (let at = prefix.length - 1; at >= 0; at -= 1) {
    if (text.charCodeAt(at) !== prefix.charCodeAt(at)) return false;
  }
  return true;
}

/** True if first and last character fit, unless they are wildcards: this tells most globs apart from texts that they do not match. */
function fitsAtEnds(glob: string, text: string): boolean {
  const first = glob.charCodeAt(0);
  const last = glob.charCodeAt(glob.length - 1);
  return (
    (isWildcard(first) || first === text.charCodeAt(0)) &&
    (isWildcard(last) || last === text.charCodeAt(text.length - 1))
  );
}

/**
 * True if `pattern` matches the whole of `text`: `*` stands for any run of characters, also none and also across `.`, `:`, `/` and line ends;
 * `?` stands for exactly one code point; everything else for itself, in the case given. The time is linear in the length of `text` for any one
 * pattern; the cost is charged to `work`.
 */
export function matchesPattern(pattern: string, text: string, work: Work = unlimited): boolean {
  return globMatches(pattern, text, work);
}

/** Result of `matchesPattern` with A to Z folded on both sides, as actions and resources are compared. */
export function matchesFolded(pattern: string, text: string): boolean {
  return globMatches(foldAscii(pattern), foldAscii(text), unlimited);
}

/** Comparisons for each character of text and pattern together after which the two pointers give up. */
const comparisonsPerCharacter = 4;

function globMatches(pattern: string, text: string, work: Work): boolean {
  const limit = comparisonsPerCharacter * (text.length + pattern.length);
  const found = matchByPointers(pattern, text, limit, work);
  return found ?? matchByStates(pattern, text, work);
}

/**
 * Matching by two pointers: on a mismatch only the latest `*` is widened, by one code point. An earlier one never needs to be, as the text
 * between two stars was found at its first possible place. Fast for usual patterns; undefined after `limit` comparisons, since a literal that
 * nearly fits everywhere is compared at every place.
 */
function matchByPointers(pattern: string, text: string, limit: number, work: Work): boolean | undefined {
  let p = 0;
  let t = 0;
  let afterStar = -1;
  let resume = 0;
  let compared = 0;
  while (t < text.length && compared < limit) {
    compared += 1;
    // NaN past the end of the pattern, which equals nothing.
    const wanted = pattern.charCodeAt(p);
    if (wanted === star) {
      afterStar = ++p;
      resume = afterStar === pattern.length ? text.length : t;
      t = resume;
    } else if (wanted === questionMark) {
      p += 1;
      t += codePointLength(text, t);
    } else if (wanted === text.charCodeAt(t)) {
      p += 1;
      t += 1;
    } else if (afterStar >= 0) {
      resume += codePointLength(text, resume);
      p = afterStar;
      t = resume;
    } else {
      // Sentinel: no place of the pattern, so nothing matches any more.
      p = -1;
      t = text.length;
    }
  }
  work.spend(compared);
  return t < text.length ? undefined : onlyStarsFrom(pattern, p);
}

/**
 * Matching by states: all places of the pattern at which the text may stand at once, one bit each (Shift-And). Every character of the text costs
 * the same, one step for each 32 characters of the pattern, whatever both are.
 */
function matchByStates(pattern: string, text: string, work: Work): boolean {
  // Charged before allocation: each character of the pattern may take a mask of its own.
  work.spend((2 * text.length + pattern.length) * ((pattern.length >>> 5) + 1));
  const { symbols, loops, masks, anything } = statesOf(pattern);
  const words = loops.length;
  const states = new Uint32Array(words);
  states[0] = 1;
  for (const symbol of text) {
    const mask = masks.get(symbol) ?? anything;
    let carry = 0;
    for (let word = 0; word < words; word += 1) {
      const old = states[word] ?? 0;
      // A state that fits the next character moves one further; a state at a star also stays.
      const next = old & (mask[word] ?? 0);
      states[word] = (next << 1) | carry | (old & (loops[word] ?? 0));
      carry = next >>> 31;
    }
  }
  return isSet(states, symbols);
}

interface States {
  /** How many characters the pattern has but its stars: the place that stands for its end. */
  readonly symbols: number;
  /** The places at which a star stands. */
  readonly loops: Uint32Array;
  /** Masks of the places that a character fits; for others those of `anything`. */
  readonly masks: ReadonlyMap<string, Uint32Array>;
  readonly anything: Uint32Array;
}

function statesOf(pattern: string): States {
  const characters = [...pattern];
  const symbols = characters.filter((one) => one !== '*').length;
  const words = (symbols >>> 5) + 1;
  const loops = new Uint32Array(words);
  const anything = new Uint32Array(words);
  const masks = new Map<string, Uint32Array>();
  let place = 0;
  for (const character of characters) {
    if (character === '*') {
      set(loops, place);
      continue;
    }
    if (character === '?') set(anything, place);
    else masks.set(character, set(masks.get(character) ?? new Uint32Array(words), place));
    place += 1;
  }
  for (const mask of masks.values())
    for (let word = 0; word < words; word += 1) mask[word] = (mask[word] ?? 0) | (anything[word] ?? 0);
  return { symbols, loops, masks, anything };
}

function set(bits: Uint32Array, at: number): Uint32Array {
  bits[at >>> 5] = (bits[at >>> 5] ?? 0) | (1 << (at & 31));
  return bits;
}

function isSet(bits: Uint32Array, at: number): boolean {
  return (((bits[at >>> 5] ?? 0) >>> (at & 31)) & 1) === 1;
}

function onlyStarsFrom(pattern: string, from: number): boolean {
  for (let at = from; at < pattern.length; at += 1) if (pattern.charCodeAt(at) !== star) return false;
  return true;
}

function codePointLength(text: string, at: number): 1 | 2 {
  const unit = text.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdbff) return 1;
  const next = text.charCodeAt(at + 1);
  return next >= 0xdc00 && next <= 0xdfff ? 2 : 1;
}
