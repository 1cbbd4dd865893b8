import { foldAscii } from '../names/index.ts';

/** How a pattern is compared: `*` alone, no wildcard, one `*` at the end only, or anything else. */
export type PatternKind = 'any' | 'exact' | 'prefix' | 'glob';

/** A pattern whose kind was found once, so that most comparisons need not look for wildcards. */
export interface Pattern {
  readonly kind: PatternKind;
  /** The literal text for `exact` and `prefix`, the whole pattern for `glob`. */
  readonly text: string;
}

/** What stands before the first wildcard, behind the last one, and the longest text between two. Each may be empty. */
export interface GlobLiterals {
  readonly prefix: string;
  readonly suffix: string;
  readonly inner: string;
}

const star = 0x2a;
const questionMark = 0x3f;

/** True when the text holds a wildcard: `*` or `?`. There is no way to escape one. */
export function isPattern(text: string): boolean {
  return text.includes('*') || text.includes('?');
}

/** Takes a pattern apart. The case is kept: fold first where case does not count. */
export function compilePattern(text: string): Pattern {
  if (text === '*') return { kind: 'any', text: '' };
  if (!isPattern(text)) return { kind: 'exact', text };
  const wildcard = text.search(/[*?]/);
  if (wildcard === text.length - 1 && text.charCodeAt(wildcard) === star) {
    return { kind: 'prefix', text: text.slice(0, wildcard) };
  }
  return { kind: 'glob', text };
}

/** The literals of a pattern with a wildcard. */
export function globLiterals(glob: string): GlobLiterals {
  const parts = glob.split(/[*?]/);
  let inner = '';
  for (const part of parts.slice(1, -1)) if (part.length > inner.length) inner = part;
  return { prefix: parts[0] ?? '', suffix: parts.at(-1) ?? '', inner };
}

/** Whether a compiled pattern matches the whole text. */
export function patternMatches(pattern: Pattern, text: string): boolean {
  switch (pattern.kind) {
    case 'any':
      return true;
    case 'exact':
      return pattern.text === text;
    case 'prefix':
      return text.startsWith(pattern.text);
    case 'glob':
      return globMatches(pattern.text, text);
  }
}

/**
 * Whether `pattern` matches the whole of `text`: `*` stands for any run of characters, also none and also across `.`, `:`,
 * `/` and line ends; `?` stands for exactly one code point; everything else for itself, in the case given.
 * The time is linear in the length of `text` for any one pattern.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  return globMatches(pattern, text);
}

/** As `matchesPattern`, with A to Z folded on both sides, as actions and resources are compared. */
export function matchesFolded(pattern: string, text: string): boolean {
  return globMatches(foldAscii(pattern), foldAscii(text));
}

/**
 * Two pointers: on a mismatch only the latest `*` is widened, by one code point. An earlier one never needs to be, as what
 * stands between two stars was found at its first possible place.
 */
function globMatches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let afterStar = -1;
  let resume = 0;
  while (t < text.length) {
    const wanted = p < pattern.length ? pattern.charCodeAt(p) : -1;
    if (wanted === star) {
      afterStar = ++p;
      if (afterStar === pattern.length) return true;
      resume = t;
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
      return false;
    }
  }
  return onlyStarsFrom(pattern, p);
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
