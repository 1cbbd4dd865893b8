import { denyFlag } from './packed-assertions.ts';

const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;
const openObject = 0x7b;
const closeObject = 0x7d;

/** Behind the texts of an assertion: its number, and what stands behind the last value. */
export const [id, none] = [3, 4];
const effect = 4;

const encoder = new TextEncoder();
/** By member. */
const names = ['"role":"', '"action":"', '"resource":"', '"id":', '"effect":"'].map((name) => encoder.encode(name));
const [allow, deny] = [encoder.encode('ALLOW"'), encoder.encode('DENY"')];
const noPrefix = new Uint8Array();
/** All members but the number, each once. */
const required = 0b10111;

/** What a byte of a value says of it: that it must be folded or matched, that it has a colon (flags of a packed assertion), that it ends as a number or as a text of ASCII. */
const [closerLook, hasColon, noDigit, noText, anything] = [1, 2, 4, 8, 16];

/** What each byte says. */
export const marks: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte < 0x20 || character > 'z' || character === '"' || character === '\\') return anything | noDigit | noText;
  if (isDigit(byte)) return anything;
  if (character === ':') return anything | noDigit | hasColon;
  return /[A-Z*?]/.test(character) ? anything | noDigit | closerLook : anything | noDigit;
});

/** What stands before a value: its bytes by fours, and those that are left. */
export interface Part {
  readonly member: number;
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly rest: number;
  readonly restMask: number;
  readonly restLength: number;
  /** The marks that end the value. */
  readonly stop: number;
  /** The marks that make it more than a name in lower case. */
  readonly look: number;
}

/** What the assertions of one form have in common: all but their texts and numbers. */
export interface Form {
  readonly parts: readonly Part[];
  readonly partCount: number;
  /** Where such an assertion may begin, and each of its values end: no part is behind the end of the document then. */
  readonly last: number;
  /** Of each assertion: whether it denies. */
  readonly flags: number;
  readonly hasNumber: boolean;
}

/** Finds out how an assertion is written. What its values are is for who reads it. */
export class FormReader {
  readonly #bytes: Uint8Array;
  readonly #prefixes: readonly Uint8Array[];
  #parts: Part[] = [];
  /** Where the part begins that is being read, and how far it was read. */
  #from = 0;
  #at = 0;
  #isDeny = false;

  /** `prefixes` may stand before the name of a role, an action and a resource: then they belong to the form. */
  constructor(bytes: Uint8Array, prefixes: readonly string[]) {
    this.#bytes = bytes;
    this.#prefixes = prefixes.map((prefix) => encoder.encode(prefix));
  }

  /** The form of the assertion that begins there; undefined for one that no Signet server writes. */
  read(begin: number): Form | undefined {
    this.#parts = [];
    this.#from = begin;
    this.#at = begin;
    let before = openObject;
    let seen = 0;
    while (this.#bytes[this.#at] === before) {
      const member = this.#readMember();
      if (member === undefined || (seen & (1 << member)) !== 0) return undefined;
      seen |= 1 << member;
      before = comma;
    }
    if (this.#bytes[this.#at] !== closeObject || (seen & required) !== required) return undefined;
    this.#at += 1;
    this.#endPart(none, anything, 0);
    const length = this.#parts.reduce((sum, { words, restLength }) => sum + 4 * words.length + restLength, 0);
    return {
      parts: this.#parts,
      partCount: this.#parts.length,
      // The rest of a part is read as four bytes.
      last: this.#bytes.length - length - 4,
      flags: this.#isDeny ? denyFlag : 0,
      hasNumber: (seen & (1 << id)) !== 0,
    };
  }

  /** Goes behind the value of the next member, whose comma or bracket stands here. Answers which member that is. */
  #readMember(): number | undefined {
    this.#at += 1;
    const member = names.findIndex((name) => this.#skip(name));
    if (member < 0) return undefined;
    if (member === effect) {
      this.#isDeny = this.#skip(deny);
      return this.#isDeny || this.#skip(allow) ? member : undefined;
    }
    if (member === id) {
      this.#endPart(member, noDigit, 0);
      while (isDigit(this.#bytes[this.#at])) this.#at += 1;
      this.#from = this.#at;
      return member;
    }
    // Behind its prefix, a name may have colons.
    const hasPrefix = this.#skip(this.#prefixes[member] ?? noPrefix);
    this.#endPart(member, noText, hasPrefix ? closerLook : closerLook | hasColon);
    this.#from = this.#bytes.indexOf(quote, this.#at);
    this.#at = this.#from + 1;
    return this.#from < 0 ? undefined : member;
  }

  /** Goes behind a text that stands here. Answers whether it does. */
  #skip(text: Uint8Array): boolean {
    const isHere = text.every((byte, index) => this.#bytes[this.#at + index] === byte);
    if (isHere) this.#at += text.length;
    return isHere;
  }

  #endPart(member: number, stop: number, look: number): void {
    const length = this.#at - this.#from;
    const padded = new DataView(new ArrayBuffer(length + 4));
    for (let at = 0; at < length; at += 1) padded.setUint8(at, this.#bytes[this.#from + at] ?? 0);
    const words = Int32Array.from({ length: length >> 2 }, (_, index) => padded.getInt32(4 * index));
    const restLength = length % 4;
    const rest = padded.getInt32(length - restLength);
    // All bits of the bytes that are left; a shift by 32 would be none.
    const restMask = restLength === 0 ? 0 : -1 << (8 * (4 - restLength));
    this.#parts.push({ member, words, wordCount: words.length, rest, restMask, restLength, stop, look });
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}
