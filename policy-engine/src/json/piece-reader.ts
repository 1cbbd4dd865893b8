import { JsonScanner } from './scanner.ts';

const comma = 0x2c;
const colon = 0x3a;
const blanks: readonly number[] = [0x20, 0x0a, 0x0d, 0x09];

/** A container that did not end in the piece in which it began. */
interface Container {
  readonly value: unknown[] | Record<string, unknown>;
  /** Name of the value, where it is a member. */
  readonly name: string | undefined;
  /** Offset at which the text begins that is not in it yet. */
  from: number;
}

/** Options for reading a long text. */
export interface PieceOptions {
  /** Bytes between two stops. */
  readonly pieceLength: number;
  /**
   * The member of the outermost object that is wanted as the bytes of its text, where that is a string longer than a piece without escapes.
   * Whether they are UTF-8 without control characters is not looked at.
   */
  readonly bytesOf?: string | undefined;
  /** Called with the offsets of a member of the outermost object, where its value is an object or a list longer than a piece. */
  readonly onMember?: ((name: string | undefined, begin: number, end: number) => void) | undefined;
}

/**
 * Reads a long text piece by piece: a piece is a run of whole items or members of one container, and `JSON.parse` reads it. Only what
 * ends in another piece than it began in is put together here. The scanner checks each piece before.
 */
export class PieceReader {
  readonly #bytes: Uint8Array;
  readonly #options: PieceOptions;
  readonly #scanner: JsonScanner;
  readonly #open: Container[] = [];
  /** Part of a long string that was read so far. Undefined for one that is wanted as bytes. */
  #string: string | undefined = '';
  #rest = 0;
  #value: unknown;

  constructor(bytes: Uint8Array, options: PieceOptions) {
    this.#bytes = bytes;
    this.#options = options;
    this.#scanner = new JsonScanner(bytes, {});
  }

  /** Parsed value, once `readOn` has answered true. */
  get value(): unknown {
    return this.#value;
  }

  /** Reads one more piece. Answers whether that was all. */
  readOn(): boolean {
    const { pieceLength } = this.#options;
    switch (this.#scanner.scanTo(this.#scanner.at + pieceLength, this.#open.length, pieceLength)) {
      case 'end':
        // Undefined when the whole was one piece.
        this.#value ??= JSON.parse(this.#scanner.decode(0, this.#bytes.length));
        return true;
      case 'value':
        this.#takeAll();
        return false;
      case 'close':
        this.#close();
        return false;
      case 'string':
        this.#takeAll();
        this.#takeString();
        return false;
      case 'string end':
        this.#endString();
        return false;
    }
  }

  /** Parses the items and members before the current one, of every container that is open. */
  #takeAll(): void {
    for (let index = 0; index < this.#scanner.depth; index += 1) {
      const { isObject, begin, mark } = this.#scanner.level(index);
      let container = this.#open[index];
      if (container === undefined) {
        container = { value: isObject ? {} : [], name: this.#nameAt(index, begin), from: begin + 1 };
        this.#open.push(container);
      }
      if (mark >= container.from) {
        this.#take(container, mark);
        container.from = mark + 1;
      }
    }
  }

  /** Adds what stands between the text that is in the container already and `to`. */
  #take({ value, from }: Container, to: number): void {
    const run = this.#scanner.decode(from, to);
    if (Array.isArray(value)) {
      for (const item of JSON.parse(`[${run}]`)) value.push(item);
    } else {
      for (const [name, member] of Object.entries(JSON.parse(`{${run}}`))) setMember(value, name, member);
    }
  }

  /** The name of the value that begins at `begin` in the container of the level before `index`. */
  #nameAt(index: number, begin: number): string | undefined {
    if (index === 0) return undefined;
    const { isObject, mark } = this.#scanner.level(index - 1);
    if (!isObject) return undefined;
    return JSON.parse(this.#scanner.decode(mark + 1, this.#bytes.lastIndexOf(colon, begin)));
  }

  #close(): void {
    const container = this.#open.pop();
    if (container === undefined) return;
    const { at } = this.#scanner;
    this.#take(container, at - 1);
    const depth = this.#open.length;
    if (depth === 1) this.#options.onMember?.(container.name, this.#scanner.level(depth).begin, at);
    this.#attach(container.name, container.value);
  }

  #takeString(): void {
    const { at, stringStart, depth, hasEscape } = this.#scanner;
    if (this.#rest < stringStart) {
      this.#rest = stringStart;
      const { bytesOf } = this.#options;
      const isText = hasEscape || bytesOf === undefined || depth !== 1 || this.#nameAt(1, stringStart - 1) !== bytesOf;
      this.#string = isText ? '' : undefined;
      if (!isText) this.#scanner.jumpToQuote();
    }
    if (hasEscape) this.#string ??= '';
    if (this.#string === undefined) return;
    this.#string += this.#decode(at);
    this.#rest = at;
  }

  #endString(): void {
    const { at, stringStart, hasEscape, depth } = this.#scanner;
    if (hasEscape) this.#string ??= '';
    const value =
      this.#string === undefined ? this.#bytes.subarray(stringStart, at - 1) : this.#string + this.#decode(at - 1);
    this.#attach(this.#nameAt(depth, stringStart - 1), value);
  }

  #decode(to: number): string {
    const part = this.#scanner.decode(this.#rest, to);
    return part.includes('\\') ? JSON.parse(`"${part}"`) : part;
  }

  /** Adds a value that was put together here to the container around it. */
  #attach(name: string | undefined, value: unknown): void {
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      this.#value = value;
      return;
    }
    if (Array.isArray(parent.value)) parent.value.push(value);
    else setMember(parent.value, name ?? '', value);
    parent.from = this.#behindComma(this.#scanner.at);
  }

  /** Offset of the next item or member behind a value that ends at `at`; the bracket that closes their container where there is none. */
  #behindComma(at: number): number {
    let end = at;
    while (blanks.includes(this.#bytes[end] ?? 0)) end += 1;
    return this.#bytes[end] === comma ? end + 1 : end;
  }
}

function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
}
