import { natively } from '../natively.ts';
import { JsonLimitError, JsonSyntaxError } from './json-errors.ts';

/** Limits on the content of a text, whatever its length: small values cost more than their characters. Default: no limit. */
export interface JsonLimits {
  /** Items of one array. */
  readonly items?: number;
  /** Different names of members, in the whole text: each object with names of its own costs a layout in memory. */
  readonly names?: number;
  /** Values in all, arrays and objects included. */
  readonly values?: number;
}

/** Objects and lists inside each other. */
const deepest = 32;

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const letterE = 0x65;
const letterU = 0x75;
const plus = 0x2b;
/** Sentinel behind the last byte: less than every byte, and never one that goes on. */
const none = -0x100;

const words: readonly Uint8Array[] = ['true', 'false', 'null'].map((word) => new TextEncoder().encode(word));

/** Characters allowed after a backslash, `u` and its digits apart. */
const shortEscapes: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));

/** Digits of hexadecimal numbers, by their character code. */
const hexDigits: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? undefined : digit;
});

/** Number length, with exponent length, below which a number is finite: 1e200 × 1e99. */
const finiteLength = 200;
const finiteExponent = 3;

/** An object or a list that is open, and where the scanner is in it. One is made for each level and used again. */
class Level {
  isObject = false;
  /** Offset of its bracket. */
  begin = 0;
  /** Offset of the comma that the current item or member follows; the bracket for the first. */
  mark = 0;
  /** Items or members before the current one. */
  count = 0;
  /**
   * Offsets at which the names of the former object here begin and end, in its order and with their quotes; while the current one has the same
   * names in the same order, none of them can be a duplicate.
   */
  readonly nameStarts: number[] = [];
  readonly nameEnds: number[] = [];
  /** Names of the current object, once it differs from the one before. */
  own: Set<string> | undefined;
  /** Duplicate: the name of the current member occurred before. */
  isTwice = false;
}

/** Reason why the scanner has stopped. */
type Stop =
  /** Stopped before a value. */
  | 'value'
  | 'string'
  | 'string end'
  /** Stopped behind the bracket that closes a watched container. */
  | 'close'
  | 'end';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const replacing = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Scanner that validates a text in UTF-8 in one pass by the rules of a strict reader, without making the values: `JSON.parse` accepts a valid
 * text with the same meaning as every other reader. One loop over the bytes, so that it is cheap in a program that was just started too. The
 * content of strings is skipped: decoders check that it is UTF-8.
 */
export class JsonScanner {
  readonly #bytes: Uint8Array;
  readonly #length: number;
  #at = 0;
  readonly #levels: Level[] = [];
  #depth = 0;

  readonly #maxItems: number;
  readonly #maxNames: number;
  readonly #names: Set<string> | undefined;
  readonly #maxValues: number;
  #values = 0;

  /** State: a value ended here. */
  #isBehindValue = false;
  #isInString = false;
  #stringStart = 0;
  #hasEscape = false;
  /** Offset of the end of an escaped first half of a surrogate pair, and whether there was half a pair alone. */
  #firstHalfEnd = -1;
  #hasHalf = false;

  constructor(bytes: Uint8Array, { items = Infinity, names, values = Infinity }: JsonLimits) {
    this.#bytes = bytes;
    this.#length = bytes.length;
    this.#maxItems = items;
    this.#maxNames = names ?? Infinity;
    if (names !== undefined) this.#names = new Set();
    this.#maxValues = values;
  }

  get at(): number {
    return this.#at;
  }

  /** How many containers are open. */
  get depth(): number {
    return this.#depth;
  }

  /** The open container of a level; the outermost is 0. */
  level(index: number): Pick<Level, 'isObject' | 'begin' | 'mark'> {
    return this.#levels[index] as Level;
  }

  /** Offset of the string that is being read, behind its quote. */
  get stringStart(): number {
    return this.#stringStart;
  }

  /** True if the string that was read last has an escape so far. */
  get hasEscape(): boolean {
    return this.#hasEscape;
  }

  /** Scans the whole text. Throws `JsonSyntaxError`, and `JsonLimitError` as soon as it exceeds a limit. */
  scan(): void {
    this.scanTo(Infinity, 0, Infinity);
  }

  /**
   * Scans until `until` is passed, or one of the `watched` outermost containers closes, or `longest` characters of a longer string were passed.
   * Throws as `scan` does.
   */
  scanTo(until: number, watched: number, longest: number): Stop {
    if (this.#isInString) return this.#readOnInString(longest);
    for (;;) {
      if (!this.#isBehindValue) {
        if (this.#at >= until) return 'value';
        this.#isBehindValue = this.#value(longest);
        if (this.#isInString) return 'string';
      } else if (this.#depth > 0) {
        this.#isBehindValue = !this.#more();
      } else {
        return this.#end();
      }
      if (this.#depth < watched) return 'close';
    }
  }

  /**
   * Skips natively to the quote that ends the string that is being read: the caller checks that everything before it may stand in a string.
   * Stays at its position when there is an escape.
   */
  jumpToQuote(): void {
    const bytes = natively(this.#bytes);
    const end = bytes.indexOf(quote, this.#at);
    if (end >= 0 && !bytes.subarray(this.#at, end).includes(backslash)) this.#at = end;
  }

  #readOnInString(longest: number): Stop {
    this.#isBehindValue = this.#restOfString(longest);
    return this.#isBehindValue ? 'string end' : 'string';
  }

  #error(problem: string): JsonSyntaxError {
    return new JsonSyntaxError(problem, this.#characters());
  }

  #limit(problem: string): JsonLimitError {
    return new JsonLimitError(problem, this.#characters());
  }

  #characters(): number {
    return replacing.decode(this.#bytes.subarray(0, this.#at)).length;
  }

  #end(): Stop {
    this.#skipBlank();
    if (this.#at < this.#length) throw this.#error('more text than one value');
    return 'end';
  }

  /** Reads a value, or the beginning of one. Returns true if it is complete. */
  #value(longest: number): boolean {
    const unit = this.#skipBlank();
    if (unit === openList) return this.#openList();
    if (unit === openObject) return this.#openObject();
    if (unit === closeList && this.#closesEmptyList()) return true;
    this.#countValue();
    if (unit === quote) return this.#string(longest);
    if (unit === minus || (unit >= zero && unit <= nine)) this.#number();
    else this.#word();
    return true;
  }

  #openList(): boolean {
    const begin = this.#at;
    this.#at += 1;
    this.#countValue();
    this.#open(false, begin);
    return false;
  }

  /** Reads the bracket that closes a list without items. */
  #closesEmptyList(): boolean {
    const level = this.#levels[this.#depth - 1];
    if (this.#depth === 0 || level === undefined || level.isObject || level.count > 0) return false;
    this.#depth -= 1;
    this.#at += 1;
    return true;
  }

  /** Reads `{` and the first name, or `{}`. */
  #openObject(): boolean {
    const begin = this.#at;
    this.#at += 1;
    this.#countValue();
    const isEmpty = this.#skipBlank() === closeObject;
    const level = this.#open(true, begin);
    if (isEmpty) {
      this.#depth -= 1;
      this.#at += 1;
    } else {
      this.#name(level);
    }
    return isEmpty;
  }

  #open(isObject: boolean, begin: number): Level {
    const depth = this.#depth;
    if (depth >= deepest) throw this.#error(`more levels than ${deepest}`);
    let level = this.#levels[depth];
    if (level === undefined) {
      level = new Level();
      this.#levels.push(level);
    }
    level.isObject = isObject;
    level.begin = begin;
    level.mark = begin;
    level.count = 0;
    level.own = undefined;
    level.isTwice = false;
    this.#depth = depth + 1;
    return level;
  }

  /** Behind a value: reads a comma (and the next name), or the bracket that closes the container, and then returns false. */
  #more(): boolean {
    const level = this.#levels[this.#depth - 1] as Level;
    if (level.isTwice) throw this.#error('a member twice');
    const unit = this.#skipBlank();
    if (unit === (level.isObject ? closeObject : closeList)) {
      this.#at += 1;
      this.#depth -= 1;
      return false;
    }
    if (unit !== comma) throw this.#error('no comma');
    level.mark = this.#at;
    this.#at += 1;
    level.count += 1;
    if (level.isObject) {
      this.#skipBlank();
      this.#name(level);
    } else if (level.count >= this.#maxItems) {
      throw this.#limit(`more than ${this.#maxItems} items in an array`);
    }
    return true;
  }

  /** Reads the name of a member and its colon. */
  #name(level: Level): void {
    const end =
      level.own === undefined ? this.#endOfSame(level.nameStarts[level.count], level.nameEnds[level.count]) : 0;
    if (end > 0) {
      this.#at = end;
      this.#colon();
    } else {
      this.#otherName(level);
    }
  }

  /** End of the text here that equals the one from `start` to `end`; 0 if it differs. */
  #endOfSame(start: number | undefined, end = 0): number {
    if (start === undefined) return 0;
    const bytes = this.#bytes;
    let at = this.#at;
    for (let other = start; other < end; other += 1, at += 1) if (bytes[at] !== bytes[other]) return 0;
    return at;
  }

  #otherName(level: Level): void {
    if (this.#byte(this.#at) !== quote) throw this.#error('no string');
    const start = this.#at;
    this.#string(Infinity);
    const end = this.#at;
    const name = this.#decodeName(start, end);
    this.#colon();
    if (this.#names !== undefined) this.#countName(name, this.#names);
    if (level.own === undefined) {
      level.nameStarts.length = level.count;
      level.nameEnds.length = level.count;
      level.own = new Set(level.nameStarts.map((from, index) => this.#decodeName(from, level.nameEnds[index] ?? from)));
    }
    level.isTwice = level.own.has(name);
    level.own.add(name);
    level.nameStarts.push(start);
    level.nameEnds.push(end);
  }

  #decodeName(start: number, end: number): string {
    return JSON.parse(this.decode(start, end));
  }

  /** The text between two places. Throws `JsonSyntaxError` where it is not UTF-8. */
  decode(start: number, end: number): string {
    try {
      return utf8.decode(this.#bytes.subarray(start, end));
    } catch {
      throw this.#error('not UTF-8');
    }
  }

  #colon(): void {
    if (this.#skipBlank() !== colon) throw this.#error('no colon');
    this.#at += 1;
  }

  #countName(name: string, names: Set<string>): void {
    names.add(name);
    if (names.size > this.#maxNames) throw this.#limit(`more than ${this.#maxNames} different names of members`);
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > this.#maxValues) throw this.#limit(`more than ${this.#maxValues} values`);
  }

  #word(): void {
    const word = words.find((one) => one.every((byte, index) => this.#bytes[this.#at + index] === byte));
    if (word === undefined) throw this.#error('no value');
    this.#at += word.length;
  }

  #number(): void {
    const start = this.#at;
    const whole = this.#byte(start) === minus ? start + 1 : start;
    let at = this.#byte(whole) === zero ? whole + 1 : this.#digits(whole);
    if (at === whole) throw this.#error('no value');
    if (this.#byte(at) === dot) at = this.#digits(at + 1, at);
    const exponent = at;
    // The one bit by which `e` and `E` differ.
    if ((this.#byte(at) | 0x20) === letterE) {
      const sign = this.#byte(at + 1);
      at = this.#digits(sign === plus || sign === minus ? at + 2 : at + 1, at);
    }
    this.#at = at;
    const maybeInfinite = at - start > finiteLength || at - exponent > finiteExponent;
    if (maybeInfinite && !Number.isFinite(Number(this.decode(start, at)))) throw this.#error('no value');
  }

  /** End of the digits that begin here; `otherwise` when there are none. */
  #digits(from: number, otherwise = from): number {
    let at = from;
    for (let unit = this.#byte(at); unit >= zero && unit <= nine; unit = this.#byte(at)) at += 1;
    return at === from ? otherwise : at;
  }

  #string(longest: number): boolean {
    this.#at += 1;
    this.#stringStart = this.#at;
    this.#hasEscape = false;
    this.#firstHalfEnd = -1;
    this.#hasHalf = false;
    return this.#restOfString(longest);
  }

  /** Reads the rest of a string with its quote, but not many more than `longest` characters: then it returns false. */
  #restOfString(longest: number): boolean {
    // An integer in any case: the loop over the bytes compares with it.
    const end = longest < this.#length - this.#at ? this.#at + longest : this.#length;
    for (;;) {
      const unit = this.#skipPlain(end);
      this.#isInString = this.#at >= end && end < this.#length;
      if (this.#isInString) return false;
      if (unit === quote) break;
      if (unit !== backslash) throw this.#error('a character that a string may not hold');
      this.#at += 1;
      this.#escape();
    }
    this.#at += 1;
    if (this.#hasHalf || this.#firstHalfEnd >= 0) throw this.#error('half a surrogate pair');
    return true;
  }

  /** Skips what stands for itself in a string, up to the character at `end`; answers what is behind it. */
  #skipPlain(end: number): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let unit = bytes[at] ?? none;
    while (at < end && unit >= 0x20 && unit !== quote && unit !== backslash) {
      at += 1;
      unit = bytes[at] ?? none;
    }
    // The other bytes of a character that has begun.
    while ((unit & 0xc0) === 0x80) {
      at += 1;
      unit = bytes[at] ?? none;
    }
    this.#at = at;
    return unit;
  }

  /** Reads the characters after a backslash. */
  #escape(): void {
    this.#hasEscape = true;
    const unit = this.#byte(this.#at);
    if (unit === letterU) this.#unicode();
    else if (!shortEscapes.has(unit)) throw this.#error('no escape');
    else this.#at += 1;
  }

  /** Reads `u` and four digits. The two halves of a surrogate pair must follow each other, and neither stands alone. */
  #unicode(): void {
    const start = this.#at;
    let code = 0;
    for (let at = start + 1; at <= start + 4; at += 1) {
      const digit = hexDigits[this.#byte(at)];
      if (digit === undefined) throw this.#error('no escape');
      code = code * 16 + digit;
    }
    this.#at = start + 5;
    if (code >= 0xd800 && code <= 0xdfff) this.#half(code < 0xdc00, start - 1);
  }

  #half(isFirst: boolean, start: number): void {
    const isPair = !isFirst && this.#firstHalfEnd === start;
    if (!isPair && (this.#firstHalfEnd >= 0 || !isFirst)) this.#hasHalf = true;
    this.#firstHalfEnd = isFirst ? this.#at : -1;
  }

  /** Skips blanks, and answers the byte behind them. */
  #skipBlank(): number {
    let unit = this.#byte(this.#at);
    while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) {
      this.#at += 1;
      unit = this.#byte(this.#at);
    }
    return unit;
  }

  #byte(at: number): number {
    return this.#bytes[at] ?? none;
  }
}
