import { asciiIn } from '../natively.ts';
import type { Steps } from '../steps/steps.ts';
import type { Effect, WireAssertion } from '../wire/index.ts';

const [role, action, resource] = [0, 1, 2];

/** An assertion of plain texts by its places in a document. The lists have a number for its role, its action and its resource. */
export class PackedItem {
  /** Where its bracket stands. */
  item = 0;
  /** Where its texts stand, as a whole and without the domain before a name. */
  readonly begins = new Int32Array(3);
  readonly starts = new Int32Array(3);
  readonly ends = new Int32Array(3);
  /** Of the names. */
  readonly hashes = new Int32Array(3);
  /** Not zero where there is more than a name in lower case: a wildcard, a capital, a colon that does not end the domain. */
  readonly marks = new Uint8Array(3);
  isDeny = false;
}

/** Numbers for each assertion; the role is among the bits of others. */
const columns = 6;
const firstRows = 64;
const [denyBit, lookBit, actionBit, bits] = [1, 2, 4, 8];

/** Assertions between two yields. */
const sliceLength = 512;

const quote = 0x22;
const colon = 0x3a;
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
  #rows = new Int32Array(columns * firstRows);
  #count = 0;
  #latestOther = -1;

  constructor(bytes: Uint8Array, domain: string) {
    this.#bytes = bytes;
    this.#textIn = asciiIn(bytes);
    this.prefix = `${domain}:`;
  }

  get count(): number {
    return this.#count;
  }

  add({ item, begins, starts, ends, hashes, marks, isDeny }: PackedItem): void {
    const at = this.#count * columns;
    if (at === this.#rows.length) this.#widen(item);
    const rows = this.#rows;
    rows[at] = item;
    rows[at + 1] = starts[resource] ?? 0;
    rows[at + 2] = ends[resource] ?? 0;
    rows[at + 3] = hashes[resource] ?? 0;
    rows[at + 4] = begins[action] ?? 0;
    const needsLook = marks[role] !== 0 || marks[resource] !== 0;
    const others = (needsLook ? lookBit : 0) + (marks[action] === 0 ? 0 : actionBit);
    rows[at + 5] = (begins[role] ?? 0) * bits + others + (isDeny ? denyBit : 0);
    if (others > 0) this.#latestOther = this.#count;
    this.#count += 1;
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
    return (this.#number(row, 5) & lookBit) !== 0;
  }

  /** Whether its action is more than that. */
  hasOtherAction(row: number): boolean {
    return (this.#number(row, 5) & actionBit) !== 0;
  }

  hashOf(row: number): number {
    return this.#number(row, 3);
  }

  effectOf(row: number): Effect {
    return (this.#number(row, 5) & denyBit) === 0 ? 'ALLOW' : 'DENY';
  }

  roleOf(row: number): string {
    return this.#textFrom(Math.floor(this.#number(row, 5) / bits));
  }

  actionOf(row: number): string {
    return this.#textFrom(this.#number(row, 4));
  }

  nameOf(row: number): string {
    return this.#textIn(this.#number(row, 1), this.#number(row, 2));
  }

  /** Its resource with the domain. */
  resourceOf(row: number): string {
    const start = this.#number(row, 1);
    const isFull = this.#bytes[start - 1] === colon;
    return isFull ? this.#textIn(start - this.prefix.length, this.#number(row, 2)) : this.prefix + this.nameOf(row);
  }

  /** Whether the name of its resource is the text from there on. */
  isNamed(row: number, text: string, from: number): boolean {
    const start = this.#number(row, 1);
    const length = this.#number(row, 2) - start;
    if (length !== text.length - from) return false;
    const bytes = this.#bytes;
    for (let at = 0; at < length; at += 1) if (bytes[start + at] !== text.charCodeAt(from + at)) return false;
    return true;
  }

  /** Assertions that stand one behind the other. */
  itemsOf(from: number, to: number): WireAssertion[] {
    const end = this.#bytes.indexOf(closeObject, this.#number(to - 1, 0)) + 1;
    return JSON.parse(`[${this.#textIn(this.#number(from, 0), end)}]`);
  }

  #textFrom(start: number): string {
    return this.#textIn(start, this.#bytes.indexOf(quote, start));
  }

  #number(row: number, column: number): number {
    return this.#rows[row * columns + column] ?? 0;
  }

  /** For as many as there are if the others are as long as those that end at `at`. */
  #widen(at: number): void {
    const expected = Math.ceil((this.#count * this.#bytes.length * 1.02) / at);
    const rows = new Int32Array(columns * (Math.max(expected, this.#count) + firstRows));
    rows.set(this.#rows);
    this.#rows = rows;
  }
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
