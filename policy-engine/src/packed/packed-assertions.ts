import { asciiIn } from '../natively.ts';
import type { Steps } from '../steps/steps.ts';
import type { Effect, WireAssertion } from '../wire/index.ts';
import { hashBytes, placeOfName } from './name-hash.ts';

/** Texts of an assertion. */
export const [role, action, resource] = [0, 1, 2];

/** Numbers for each assertion: where it begins, with its flags; where the name of its resource, its action and its role begin. */
const columns = 4;
const firstRows = 64;

/**
 * Flags: that it denies; what its role and its resource have, and what its action has, beyond a name in lower case (two bits each).
 * INVARIANT: what they leave of 32 bits holds each place in a bundle (`maxBundleBytes`).
 */
const flagBits = 5;
export const denyFlag = 0b00001;
export const [nameShift, actionShift] = [1, 3];
const [nameFlags, actionFlags] = [0b00110, 0b11000];

/** Assertions between two yields. */
const sliceLength = 512;

const quote = 0x22;
const closeObject = 0x7d;

/**
 * Assertions that stay in the bytes of the document that they were read from, with a row of numbers for each: a hundred thousand are a
 * few objects. Each is an object without a brace in its texts, all of ASCII.
 */
export class PackedAssertions {
  readonly #bytes: Uint8Array;
  readonly #textIn: (from: number, to: number) => string;
  /** What stands before the name of a resource of the domain. */
  readonly prefix: string;
  #rows: Int32Array;
  /** Of the name of each resource. */
  #hashes: Int32Array;
  #count = 0;
  #latestOther = -1;
  #actionPlaces = 0;

  /** The numbers may stand in `spare`, which nobody else needs. */
  constructor(bytes: Uint8Array, domain: string, spare: Uint8Array = new Uint8Array()) {
    this.#bytes = bytes;
    this.#textIn = asciiIn(bytes);
    this.prefix = `${domain}:`;
    const begin = Math.ceil(spare.byteOffset / 4) * 4;
    const count = Math.floor((spare.byteOffset + spare.length - begin) / 4 / (columns + 1));
    const isWide = count > 0;
    this.#rows = isWide ? new Int32Array(spare.buffer, begin, count * columns) : new Int32Array(columns * firstRows);
    this.#hashes = isWide
      ? new Int32Array(spare.buffer, begin + 4 * count * columns, count)
      : new Int32Array(firstRows);
  }

  get count(): number {
    return this.#count;
  }

  /** Where it begins; where its texts begin, by member and without the domain before a name, and `toEnds` further where they end. */
  add(item: number, places: Int32Array, toEnds: number, flags: number): void {
    const at = this.#count * columns;
    if (at === this.#rows.length) this.#widen(item);
    const rows = this.#rows;
    rows[at] = (item << flagBits) | flags;
    rows[at + 1] = places[resource] as number;
    rows[at + 2] = places[action] as number;
    rows[at + 3] = places[role] as number;
    const bytes = this.#bytes;
    this.#hashes[this.#count] = hashBytes(bytes, places[resource] as number, places[resource + toEnds] as number);
    const actionEnd = places[action + toEnds] as number;
    this.#actionPlaces |= 1 << placeOfName(actionEnd - (places[action] as number), bytes[actionEnd - 1] as number);
    if (flags > denyFlag) this.#latestOther = this.#count;
    this.#count += 1;
  }

  /** One bit for the place of each action, and some more (`placeOfName`). */
  get actionPlaces(): number {
    return this.#actionPlaces;
  }

  /** The last row of which `needsLook` or `hasOtherAction` is true; -1 for none. */
  get latestOther(): number {
    return this.#latestOther;
  }

  /** Drops those from that row on. */
  forget(row: number): void {
    this.#count = row;
  }

  /** Whether its role or its resource is more than a name in lower case. */
  needsLook(row: number): boolean {
    return (this.#number(row, 0) & nameFlags) !== 0;
  }

  /** Whether its action is more than that. */
  hasOtherAction(row: number): boolean {
    return (this.#number(row, 0) & actionFlags) !== 0;
  }

  effectOf(row: number): Effect {
    return (this.#number(row, 0) & denyFlag) === 0 ? 'ALLOW' : 'DENY';
  }

  roleOf(row: number): string {
    return this.#textWith(`${this.prefix}role.`, this.#number(row, 3));
  }

  actionOf(row: number): string {
    return this.#textFrom(this.#number(row, 2));
  }

  nameOf(row: number): string {
    return this.#textFrom(this.#number(row, 1));
  }

  /** Its resource with the domain. */
  resourceOf(row: number): string {
    const text = this.#textWith(this.prefix, this.#number(row, 1));
    return text.startsWith(this.prefix) ? text : this.prefix + text;
  }

  /** The hashes of the names from `from` to `to`, in memory that is not the caller's. */
  hashesOf(from: number, to: number): Int32Array {
    return this.#hashes.subarray(from, to);
  }

  /** Whether the name of its resource is the text from there on. */
  isNamed(row: number, text: string, from: number): boolean {
    const bytes = this.#bytes;
    let at = this.#number(row, 1);
    for (let index = from; index < text.length; index += 1, at += 1) {
      const unit = text.charCodeAt(index);
      // No name has a quote in it: the text does not go on behind the name.
      if (bytes[at] !== unit || unit === quote) return false;
    }
    return bytes[at] === quote;
  }

  /** Assertions that stand one behind the other. */
  itemsOf(from: number, to: number): WireAssertion[] {
    const end = this.#bytes.indexOf(closeObject, this.#beginOf(to - 1)) + 1;
    return JSON.parse(`[${this.#textIn(this.#beginOf(from), end)}]`);
  }

  /** The whole text whose name begins there, behind the prefix or behind the quote. */
  #textWith(prefix: string, name: number): string {
    return this.#textFrom(this.#bytes[name - 1] === quote ? name : name - prefix.length);
  }

  #textFrom(start: number): string {
    return this.#textIn(start, this.#bytes.indexOf(quote, start));
  }

  #beginOf(row: number): number {
    return this.#number(row, 0) >>> flagBits;
  }

  #number(row: number, column: number): number {
    return this.#rows[row * columns + column] ?? 0;
  }

  /** For as many as there are if the others are as long as those that end at `at`. */
  #widen(at: number): void {
    const expected = Math.ceil((this.#count * this.#bytes.length * 1.02) / at);
    const count = Math.max(expected, this.#count) + firstRows;
    this.#rows = withRoom(this.#rows, columns * count);
    this.#hashes = withRoom(this.#hashes, count);
  }
}

function withRoom(numbers: Int32Array, length: number): Int32Array {
  const more = new Int32Array(length);
  more.set(numbers);
  return more;
}

/** One of them. */
export class PackedAssertion {
  readonly #all: PackedAssertions;
  readonly #row: number;

  constructor(all: PackedAssertions, row: number) {
    this.#all = all;
    this.#row = row;
  }

  /** As it was written: a new object each time. */
  unpack(): WireAssertion {
    const [assertion] = this.#all.itemsOf(this.#row, this.#row + 1);
    if (assertion === undefined) throw new RangeError('no such assertion');
    return assertion;
  }
}

/** Some that stand one behind the other, in place of the assertions. */
export class AssertionRun {
  readonly all: PackedAssertions;
  readonly from: number;
  readonly to: number;
  /** Whether all are names in lower case. */
  readonly isPlain: boolean;

  /** All from that row on. */
  constructor(all: PackedAssertions, from: number) {
    this.all = all;
    this.from = from;
    this.to = all.count;
    this.isPlain = all.latestOther < from;
  }

  get length(): number {
    return this.to - this.from;
  }

  /** The assertions themselves, in slices. */
  *unpack(): Steps<WireAssertion[]> {
    const assertions: WireAssertion[] = [];
    for (let { from } = this; from < this.to; from += sliceLength) {
      for (const one of this.all.itemsOf(from, Math.min(from + sliceLength, this.to))) assertions.push(one);
      yield;
    }
    return assertions;
  }
}

/** A list of assertions of which some are packed. */
export type PackedList<Assertion> = readonly (Assertion | AssertionRun)[];
