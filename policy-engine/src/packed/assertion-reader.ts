import type { ItemRun, RunReader } from '../json/piece-reader.ts';
import { addToHash, emptyHash, finishHash } from './name-hash.ts';
import { AssertionRun, PackedAssertions, PackedItem } from './packed-assertions.ts';

const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;
const openObject = 0x7b;
const closeObject = 0x7d;

/** The members of an assertion: role, action and resource, as `PackedItem` counts them, and the others. */
const [effect, id, none] = [3, 4, 5];
/** All but the number, each once. */
const required = 0b01111;

const encoder = new TextEncoder();
const names = ['"role":"', '"action":"', '"resource":"', '"effect":"', '"id":'].map((name) => encoder.encode(name));
const [allow, deny] = [encoder.encode('ALLOW'), encoder.encode('DENY')];

const noPrefix = new Uint8Array();

/** Numbers of at most so many digits are safe. */
const safeDigits = 15;

/** What a byte in a string says of it: that it must be folded or matched, that it has a colon, that it ends or is not plain ASCII. */
const [closerLook, hasColon, stop] = [1, 2, 4];
const marks = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte < 0x20 || character > 'z' || character === '"' || character === '\\') return stop;
  if (character === ':') return hasColon;
  return /[A-Z*?]/.test(character) ? closerLook : 0;
});

interface Span {
  readonly from: number;
  readonly to: number;
}

/** What stands before the value of a member. */
interface Part extends Span {
  readonly member: number;
}

const noPart: Part = { member: none, from: 0, to: 0 };

/**
 * Reads assertions that stand in a list as a Signet server writes them: without blanks, escapes, conditions and members twice, their members in
 * one order, their texts of ASCII. What it takes, a strict reader takes. Nothing is made of them.
 */
export class AssertionReader implements RunReader {
  readonly depth = 5;
  readonly name = 'assertions';
  readonly #bytes: Uint8Array;
  readonly #words: DataView;
  readonly #all: PackedAssertions;
  /** What may stand before the name of a role, an action and a resource. */
  readonly #prefixes: readonly Uint8Array[];
  /** Where reading ends in any case. */
  #limit = 0;
  readonly #item = new PackedItem();

  /** Of the payload of a bundle for that domain. */
  constructor(bytes: Uint8Array, domain: string) {
    this.#bytes = bytes;
    this.#all = new PackedAssertions(bytes, domain);
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const { prefix } = this.#all;
    this.#prefixes = [`${prefix}role.`, '', prefix].map((text) => encoder.encode(text));
  }

  /** Those that are written like the first one. */
  read(at: number, length: number, least: number): ItemRun | undefined {
    this.#limit = Math.min(this.#bytes.length, at + 2 * length);
    const parts = this.#learn(at);
    if (parts === undefined) return undefined;
    const from = this.#all.count;
    const end = this.#readItems(parts, at, at + length);
    const count = this.#all.count - from;
    if (count >= least) return { count, end, value: new AssertionRun(this.#all, from) };
    this.#all.forget(from);
    return undefined;
  }

  /** How the assertion is written that begins there. What its values are is for who reads it. */
  #learn(begin: number): readonly Part[] | undefined {
    if (this.#bytes[begin] !== openObject) return undefined;
    const parts: Part[] = [];
    let seen = 0;
    let from = begin;
    let at = begin;
    do {
      const part = this.#learnPart(from, at + 1);
      if (part === undefined || (seen & (1 << part.member)) !== 0) return undefined;
      seen |= 1 << part.member;
      parts.push(part);
      from = part.member === id ? this.#endOfDigits(part.to) : this.#bytes.indexOf(quote, part.to);
      at = part.member === id || from < 0 ? from : from + 1;
    } while (this.#bytes[at] === comma);
    const isWhole = this.#bytes[at] === closeObject && (seen & required) === required;
    parts.push({ member: none, from, to: at + 1 });
    return isWhole ? parts : undefined;
  }

  /** The member whose name begins at `name`; what belongs to no value begins at `from`. */
  #learnPart(from: number, name: number): Part | undefined {
    for (const [member, text] of names.entries()) {
      const to = this.#endOfText(text, name);
      if (to >= 0) return { member, from, to };
    }
    return undefined;
  }

  /** Takes assertions that begin before `until`. Answers where the last of them ends. One loop, which is compiled once. */
  #readItems(parts: readonly Part[], begin: number, until: number): number {
    const item = this.#item;
    let end = begin;
    for (let next = begin; next < until; next = end + 1) {
      item.item = next;
      let at = next;
      for (let index = 0; index < parts.length && at >= 0; index += 1) {
        const part = parts[index] ?? noPart;
        at = this.#endOfSame(part, at);
        if (at >= 0) at = this.#endOfValue(part.member, at);
      }
      if (at < 0) break;
      this.#all.add(item);
      end = at;
      if (this.#bytes[end] !== comma) break;
    }
    return end;
  }

  #endOfValue(member: number, begin: number): number {
    if (member < effect) return this.#endOfName(member, begin);
    if (member === effect) return this.#endOfEffect(begin);
    return member === id ? this.#endOfDigits(begin) : begin;
  }

  /** Where the text ends that should begin there; negative where there is another one. */
  #endOfText(text: Uint8Array, begin: number): number {
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at += 1) if (bytes[begin + at] !== text[at]) return -1;
    return begin + text.length;
  }

  /** The same for a text that stands in the bytes already. */
  #endOfSame({ from, to }: Span, begin: number): number {
    const bytes = this.#bytes;
    const words = this.#words;
    const end = begin + to - from;
    if (end > bytes.length) return -1;
    let at = begin;
    let other = from;
    for (; at + 4 <= end; at += 4, other += 4) if (words.getInt32(at) !== words.getInt32(other)) return -1;
    for (; at < end; at += 1, other += 1) if (bytes[at] !== bytes[other]) return -1;
    return end;
  }

  /** Where the plain text of a role, an action or a resource ends, at its quote; the prefix of its member may stand before it. */
  #endOfName(member: number, begin: number): number {
    const behindPrefix = this.#endOfText(this.#prefixes[member] ?? noPrefix, begin);
    const start = behindPrefix < 0 ? begin : behindPrefix;
    const bytes = this.#bytes;
    const limit = this.#limit;
    let hash = emptyHash;
    let seen = 0;
    let at = start;
    let byte = bytes[at] ?? 0;
    for (let mark = marks[byte] ?? stop; mark !== stop && at < limit; mark = marks[byte] ?? stop) {
      seen |= mark;
      hash = addToHash(hash, byte);
      at += 1;
      byte = bytes[at] ?? 0;
    }
    const { begins, starts, ends, hashes, marks: seenOf } = this.#item;
    begins[member] = begin;
    starts[member] = start;
    ends[member] = at;
    hashes[member] = finishHash(hash);
    seenOf[member] = behindPrefix >= 0 && seen === hasColon ? 0 : seen;
    return byte === quote ? at : -1;
  }

  #endOfEffect(begin: number): number {
    const isAllow = this.#bytes[begin] === allow[0];
    this.#item.isDeny = !isAllow;
    return this.#endOfText(isAllow ? allow : deny, begin);
  }

  /** Where an integer without zeros before it ends. */
  #endOfDigits(begin: number): number {
    const bytes = this.#bytes;
    let at = begin;
    for (let byte = bytes[at] ?? 0; byte >= zero && byte <= nine; byte = bytes[at] ?? 0) at += 1;
    const hasZeros = bytes[begin] === zero && at > begin + 1;
    return at === begin || hasZeros || at > begin + safeDigits ? -1 : at;
  }
}
