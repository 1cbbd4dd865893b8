import type { ItemRun, RunReader } from '../json/piece-reader.ts';
import { addToHash, emptyHash, finishHash } from './name-hash.ts';
import { AssertionRun, PackedAssertions, type PackedItem } from './packed-assertions.ts';

const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;
const openObject = 0x7b;
const closeObject = 0x7d;

/** The members that an assertion has once each, but for its number, which it may lack. */
const [role, action, resource, effect, id, none] = [0, 1, 2, 3, 4, 5];
const required = 0b01111;

const encoder = new TextEncoder();
const names = ['"role":"', '"action":"', '"resource":"', '"effect":"', '"id":'].map((name) => encoder.encode(name));
const [allow, deny] = [encoder.encode('ALLOW'), encoder.encode('DENY')];

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

/** How the assertions of a run are written, by the places of one of them: each has the same bytes around its values. */
interface Template {
  readonly parts: readonly Part[];
  readonly end: Part;
}

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
  readonly #prefix: Uint8Array;
  readonly #rolePrefix: Uint8Array;
  /** Where reading ends in any case. */
  #limit = 0;
  /** Of the string that was read last. */
  #start = 0;
  #hash = 0;
  #marks = 0;
  readonly #item: PackedItem = {
    item: 0,
    role: 0,
    action: 0,
    nameStart: 0,
    nameEnd: 0,
    hash: 0,
    isDeny: false,
    needsLook: false,
    hasOtherAction: false,
  };

  /** Of the payload of a bundle for that domain. */
  constructor(bytes: Uint8Array, domain: string) {
    this.#bytes = bytes;
    this.#all = new PackedAssertions(bytes, domain);
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#prefix = encoder.encode(this.#all.prefix);
    this.#rolePrefix = encoder.encode(`${this.#all.prefix}role.`);
  }

  /** Those that are written like the first one. */
  read(at: number, length: number, least: number): ItemRun | undefined {
    const bytes = this.#bytes;
    this.#limit = Math.min(bytes.length, at + 2 * length);
    const template = this.#learn(at);
    if (template === undefined) return undefined;
    const from = this.#all.count;
    let end = at;
    for (let next = at; next >= 0 && next < at + length; ) {
      const itemEnd = this.#readItem(template, next);
      if (itemEnd >= 0) end = itemEnd;
      next = itemEnd >= 0 && bytes[itemEnd] === comma ? itemEnd + 1 : -1;
    }
    const count = this.#all.count - from;
    if (count >= least) return { count, end, value: new AssertionRun(this.#all, from) };
    this.#all.forget(from);
    return undefined;
  }

  /** How the assertion is written that begins there. */
  #learn(begin: number): Template | undefined {
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
      from = this.#valueEnd(part.member, part.to);
      at = this.#behindValue(part.member, from);
    } while (this.#bytes[at] === comma);
    const isWhole = this.#bytes[at] === closeObject && (seen & required) === required;
    return isWhole ? { parts, end: { member: none, from, to: at + 1 } } : undefined;
  }

  /** The member whose name begins at `name`; what belongs to no value begins at `from`. */
  #learnPart(from: number, name: number): Part | undefined {
    for (const [member, text] of names.entries()) {
      const to = this.#endOfText(text, name);
      if (to >= 0) return { member, from, to };
    }
    return undefined;
  }

  /** Behind the value that ends there, if it does: a text with its quote. */
  #behindValue(member: number, end: number): number {
    if (end < 0 || member === id) return end;
    return this.#bytes[end] === quote ? end + 1 : -1;
  }

  /** Takes one assertion. Answers where it ends; negative for one of another form. */
  #readItem({ parts, end }: Template, begin: number): number {
    const item = this.#item;
    item.item = begin;
    item.needsLook = false;
    let at = begin;
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index] ?? end;
      at = this.#endOfSame(part, at);
      if (at >= 0) at = this.#valueEnd(part.member, at);
      if (at < 0) return -1;
    }
    at = this.#endOfSame(end, at);
    if (at >= 0) this.#all.add(item);
    return at;
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
    let [at, other] = [begin, from];
    for (; at + 4 <= end; at += 4, other += 4) if (words.getInt32(at) !== words.getInt32(other)) return -1;
    for (; at < end; at += 1, other += 1) if (bytes[at] !== bytes[other]) return -1;
    return end;
  }

  /** Where the value ends that begins there, at the quote of a text; negative where it is not plain. */
  #valueEnd(member: number, begin: number): number {
    const item = this.#item;
    switch (member) {
      case role:
        item.role = begin;
        return this.#name(this.#rolePrefix, begin);
      case resource:
        item.nameEnd = this.#name(this.#prefix, begin);
        item.nameStart = this.#start;
        item.hash = this.#hash;
        return item.nameEnd;
      case action: {
        item.action = begin;
        const end = this.#text(begin);
        item.hasOtherAction = (this.#marks & closerLook) !== 0;
        return end;
      }
      case effect:
        return this.#effect(begin);
      default:
        return this.#digits(begin);
    }
  }

  /** A name, before which the prefix may stand. */
  #name(prefix: Uint8Array, begin: number): number {
    const behindPrefix = this.#endOfText(prefix, begin);
    const isFull = behindPrefix >= 0;
    this.#start = isFull ? behindPrefix : begin;
    const end = this.#text(this.#start);
    if (this.#marks !== 0 && !(isFull && this.#marks === hasColon)) this.#item.needsLook = true;
    return end;
  }

  #effect(begin: number): number {
    const end = this.#endOfText(allow, begin);
    this.#item.isDeny = end < 0;
    return end >= 0 ? end : this.#endOfText(deny, begin);
  }

  /** An integer without zeros before it. */
  #digits(begin: number): number {
    const bytes = this.#bytes;
    let at = begin;
    for (let byte = bytes[at] ?? 0; byte >= zero && byte <= nine; byte = bytes[at] ?? 0) at += 1;
    const hasZeros = bytes[begin] === zero && at > begin + 1;
    return at === begin || hasZeros || at > begin + safeDigits ? -1 : at;
  }

  #text(begin: number): number {
    const bytes = this.#bytes;
    const limit = this.#limit;
    let hash = emptyHash;
    let seen = 0;
    for (let at = begin; at < limit; at += 1) {
      const byte = bytes[at] ?? 0;
      const mark = marks[byte] ?? stop;
      if (mark === stop) {
        this.#hash = finishHash(hash);
        this.#marks = seen;
        return byte === quote ? at : -1;
      }
      seen |= mark;
      hash = addToHash(hash, byte);
    }
    return -1;
  }
}
