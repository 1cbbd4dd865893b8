import { JsonScanner } from './scanner.ts';

/** A container that did not end in the piece in which it began. */
interface Container {
  readonly value: unknown[] | Record<string, unknown>;
  /** Its name, where it is a member. */
  readonly name: string | undefined;
  /** Where the text begins that is not in it yet. */
  from: number;
}

/**
 * Reads a long text piece by piece: a piece is a run of whole items or members of one container, and `JSON.parse` reads it. Only what
 * ends in another piece than it began in is put together here.
 */
export class PieceReader {
  readonly #text: string;
  readonly #pieceLength: number;
  readonly #scanner: JsonScanner;
  readonly #open: Container[] = [];
  /** What was read of a long string, and where the rest of it begins. */
  #string = '';
  #rest = 0;
  #value: unknown;
  /** A comma with what may stand before it. */
  readonly #comma = /[ \t\n\r]*,?/y;

  constructor(text: string, pieceLength: number) {
    this.#text = text;
    this.#pieceLength = pieceLength;
    this.#scanner = new JsonScanner(text, {});
  }

  /** What was read, once `readOn` has answered true. */
  get value(): unknown {
    return this.#value;
  }

  /** Reads one more piece. Answers whether that was all. */
  readOn(): boolean {
    const length = this.#pieceLength;
    const stop = this.#scanner.scanTo(this.#scanner.at + length, this.#open.length, length);
    switch (stop) {
      case 'end':
        // Undefined when the whole was one piece.
        this.#value ??= JSON.parse(this.#text);
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

  /** Takes the items and members before the current one, of every container that is open. */
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
    const run = this.#text.slice(from, to);
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
    const colon = this.#text.lastIndexOf(':', begin);
    return JSON.parse(this.#text.slice(mark + 1, colon));
  }

  #close(): void {
    const container = this.#open.pop();
    if (container === undefined) return;
    this.#take(container, this.#scanner.at - 1);
    this.#attach(container.name, container.value);
  }

  #takeString(): void {
    if (this.#string === '') this.#rest = this.#scanner.stringStart;
    this.#string += this.#decode(this.#scanner.at);
    this.#rest = this.#scanner.at;
  }

  #endString(): void {
    const { at, stringStart, hasEscape, depth } = this.#scanner;
    const value = hasEscape ? this.#string + this.#decode(at - 1) : this.#text.slice(stringStart, at - 1);
    this.#string = '';
    this.#attach(this.#nameAt(depth, stringStart - 1), value);
  }

  /** The rest of a string up to `to`. */
  #decode(to: number): string {
    const part = this.#text.slice(this.#rest, to);
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
    this.#comma.lastIndex = this.#scanner.at;
    this.#comma.test(this.#text);
    parent.from = this.#comma.lastIndex;
  }
}

function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
}
