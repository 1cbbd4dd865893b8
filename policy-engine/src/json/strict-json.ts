import { PolicyEngineError } from '../errors.ts';

/** Text that is no strict JSON. The message says what and where, never the text itself. */
export class JsonSyntaxError extends PolicyEngineError {
  override readonly name = 'JsonSyntaxError';

  constructor(problem: string, at: number) {
    super('invalid-json', `${problem} at character ${at}`);
  }
}

/** JSON with more in it than its reader takes. */
export class JsonLimitError extends JsonSyntaxError {}

/** At most how much a text may hold, whatever its length: small values cost more than their characters. Default: no limit. */
export interface JsonLimits {
  /** Items of one array. */
  readonly items?: number;
  /** Different names of members, in the whole text: each object with names of its own costs a layout in memory. */
  readonly names?: number;
  /** Values in all, arrays and objects included. */
  readonly values?: number;
}

/** Values between two yields. */
const sliceLength = 512;
/** Objects and lists inside each other. */
const deepest = 32;

/**
 * Parses JSON as RFC 8259 wants it and as every other reader must understand it too: duplicate members, lone surrogates,
 * numbers too large for a double, a byte order mark and more than 32 levels are refused. Throws `JsonSyntaxError`, and
 * `JsonLimitError` as soon as it meets more than `limits` allow.
 */
export function parseStrictJson(text: string, limits: JsonLimits = {}): unknown {
  const steps = parseInSteps(text, limits);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

type Container = { kind: 'object'; members: Record<string, unknown>; key: string } | { kind: 'list'; items: unknown[] };

/** `parseStrictJson` in slices, for large documents. */
export function* parseInSteps(text: string, limits: JsonLimits = {}): Generator<void, unknown> {
  const reader = new JsonReader(text, limits);
  const { items = Infinity } = limits;
  const open: Container[] = [];
  for (let count = 1; ; count += 1) {
    if (count % sliceLength === 0) yield;
    const begun = reader.open();
    if (begun !== undefined) {
      open.push(begun);
      if (open.length > deepest) throw reader.error('more levels than 32');
      continue;
    }
    let value = reader.closesEmpty(open) ? closed(open.pop()) : reader.scalar();
    while (value === unfinished) {
      yield;
      value = reader.resume();
    }
    value = finish(value, open, reader, items);
    if (open.length === 0) return reader.end(value);
  }
}

/** Attaches a value, and closes what ends behind it. Answers the outermost value once nothing is open. */
function finish(value: unknown, open: Container[], reader: JsonReader, maxItems: number): unknown {
  let finished = value;
  for (;;) {
    const container = open.at(-1);
    if (container === undefined) return finished;
    attach(container, finished, reader);
    if (reader.more(container)) {
      if (container.kind === 'list' && container.items.length >= maxItems) {
        throw reader.limit(`more than ${maxItems} items in an array`);
      }
      return finished;
    }
    finished = closed(open.pop());
  }
}

function closed(container: Container | undefined): unknown {
  return container?.kind === 'object' ? container.members : container?.items;
}

function attach(container: Container, value: unknown, reader: JsonReader): void {
  if (container.kind === 'list') {
    container.items.push(value);
  } else if (Object.hasOwn(container.members, container.key)) {
    throw reader.error('a member twice');
  } else if (container.key === '__proto__') {
    Object.defineProperty(container.members, container.key, { value, enumerable: true });
  } else {
    container.members[container.key] = value;
  }
}

/** What may follow a backslash, `u` and its digits apart. */
const shortEscapes: ReadonlySet<string> = new Set('"\\/bfnrt');
const quote = 0x22;
const backslash = 0x5c;
/** Characters of a long string that are read before others run. */
const pieceLength = 65_536;

/** What is read without an expression: such numbers are exact, such strings are most of a document. */
const shortDigits = 9;
const shortCharacters = 64;

/** Stands for a string so long that others should run before the rest of it is read. */
const unfinished = Symbol('unfinished');

class JsonReader {
  readonly #text: string;
  #at = 0;
  /** The string that is being read: what is decoded already, and where the rest begins. */
  #decoded = '';
  #from = 0;
  /** Whether there is an escape in the rest. */
  #escaped = false;
  /** Sticky expressions over the text; none of them is built from input. */
  readonly #blank = /[ \t\n\r]*/y;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside strings
  readonly #plain = /[^"\\\u0000-\u001f]{1,65536}/y;
  readonly #number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  readonly #word = /true|false|null/y;
  readonly #unicode = /u[0-9a-fA-F]{4}/y;

  readonly #maxNames: number | undefined;
  readonly #names = new Set<string>();
  readonly #maxValues: number;
  #values = 0;

  constructor(text: string, { names, values = Infinity }: JsonLimits) {
    this.#text = text;
    this.#maxNames = names;
    this.#maxValues = values;
  }

  error(problem: string): JsonSyntaxError {
    return new JsonSyntaxError(problem, this.#at);
  }

  limit(problem: string): JsonLimitError {
    return new JsonLimitError(problem, this.#at);
  }

  /** Takes `{` and the first key, or `[`. */
  open(): Container | undefined {
    this.#skipBlank();
    if (this.#take('[')) {
      this.#countValue();
      return { kind: 'list', items: [] };
    }
    if (!this.#take('{')) return undefined;
    this.#countValue();
    this.#skipBlank();
    return { kind: 'object', members: {}, key: this.#peek() === '}' ? '' : this.#key() };
  }

  /** Takes the bracket that closes the container just opened. */
  closesEmpty(open: readonly Container[]): boolean {
    const container = open.at(-1);
    if (container === undefined) return false;
    if (container.kind === 'list') return container.items.length === 0 && this.#take(']');
    return container.key === '' && this.#previous() === '{' && this.#take('}');
  }

  /** Takes a comma (and the next key), or the bracket that closes the container: then there is no more. */
  more(container: Container): boolean {
    this.#skipBlank();
    if (this.#take(container.kind === 'list' ? ']' : '}')) return false;
    if (!this.#take(',')) throw this.error('no comma');
    if (container.kind === 'object') {
      this.#skipBlank();
      container.key = this.#key();
    }
    return true;
  }

  /** A string, number or word; `unfinished` for a long string, which `resume` goes on with. */
  scalar(): unknown {
    this.#countValue();
    if (this.#peek() === '"') return this.#string();
    const short = this.#shortNumber();
    if (short !== undefined) return short;
    const word = this.#match(this.#word);
    if (word !== '') return word === 'null' ? null : word === 'true';
    const digits = this.#match(this.#number);
    const number = Number(digits);
    if (digits === '' || !Number.isFinite(number)) throw this.error('no value');
    return number;
  }

  end(value: unknown): unknown {
    this.#skipBlank();
    if (this.#at < this.#text.length) throw this.error('more text than one value');
    return value;
  }

  /** The rest of a string, or `unfinished` once more. */
  resume(): string | typeof unfinished {
    while (this.#at - this.#from < pieceLength) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit === quote) return this.#whole();
      if (unit === backslash) this.#skipEscape();
      else this.#skipPlain();
    }
    this.#decode();
    return unfinished;
  }

  /** A whole number of a few digits, without the cost of an expression; undefined for any other. */
  #shortNumber(): number | undefined {
    let value = 0;
    let at = this.#at;
    for (; at < this.#at + shortDigits; at += 1) {
      const digit = this.#text.charCodeAt(at) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    // None, a zero before others, or more of it: another digit, a fraction, an exponent.
    const next = this.#text.charCodeAt(at);
    const isEnd = next === 0x2c || next === 0x5d || next === 0x7d;
    if (at === this.#at || !isEnd || (at > this.#at + 1 && this.#text.charCodeAt(this.#at) === 0x30)) return undefined;
    this.#at = at;
    return value;
  }

  /** A string of a few characters without escapes, up to its closing quote; undefined for any other. */
  #shortString(): string | undefined {
    const start = this.#at + 1;
    for (let at = start; at < start + shortCharacters; at += 1) {
      const unit = this.#text.charCodeAt(at);
      if (unit === quote) {
        this.#at = at + 1;
        return this.#text.slice(start, at);
      }
      if (!(unit >= 0x20) || unit === backslash) return undefined;
    }
    return undefined;
  }

  #string(): string | typeof unfinished {
    const short = this.#peek() === '"' ? this.#shortString() : undefined;
    if (short !== undefined) return short;
    if (!this.#take('"')) throw this.error('no string');
    this.#decoded = '';
    this.#from = this.#at;
    this.#escaped = false;
    return this.resume();
  }

  /** The string that ends here. */
  #whole(): string {
    const isOnePiece = this.#decoded === '' && !this.#escaped;
    this.#decode();
    this.#at += 1;
    // Halves that the text itself holds, unescaped, are found by whoever made a text of bytes.
    if (!isOnePiece && !this.#decoded.isWellFormed()) throw this.error('half a surrogate pair');
    return this.#decoded;
  }

  /** Adds what was passed since the last time; the escapes in it are known to be right. */
  #decode(): void {
    const piece = this.#text.slice(this.#from, this.#at);
    this.#decoded += this.#escaped ? JSON.parse(`"${piece}"`) : piece;
    this.#from = this.#at;
    this.#escaped = false;
  }

  #skipEscape(): void {
    this.#at += 1;
    if (shortEscapes.has(this.#peek())) this.#at += 1;
    else if (this.#match(this.#unicode) === '') throw this.error('no escape');
    this.#escaped = true;
  }

  #skipPlain(): void {
    this.#plain.lastIndex = this.#at;
    if (!this.#plain.test(this.#text)) throw this.error('a character that a string may not hold');
    this.#at = this.#plain.lastIndex;
  }

  #key(): string {
    let key = this.#string();
    while (key === unfinished) key = this.resume();
    this.#skipBlank();
    if (!this.#take(':')) throw this.error('no colon');
    if (this.#maxNames !== undefined) this.#countName(key, this.#maxNames);
    return key;
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > this.#maxValues) throw this.limit(`more than ${this.#maxValues} values`);
  }

  #countName(name: string, maxNames: number): void {
    this.#names.add(name);
    if (this.#names.size > maxNames) throw this.limit(`more than ${maxNames} different names of members`);
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  /** The last character before here that is no blank. */
  #previous(): string {
    let at = this.#at - 1;
    while (at >= 0 && ' \t\n\r'.includes(this.#text.charAt(at))) at -= 1;
    return this.#text.charAt(at);
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipBlank(): void {
    if (this.#text.charCodeAt(this.#at) > 0x20) return;
    this.#blank.lastIndex = this.#at;
    if (this.#blank.test(this.#text)) this.#at = this.#blank.lastIndex;
  }

  #match(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#text);
    if (match === null) return '';
    this.#at += match[0].length;
    return match[0];
  }
}
