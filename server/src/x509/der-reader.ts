/*
 * A strict reader of DER (X.690 §8 and §10): definite lengths in the fewest octets, low tag numbers, nothing after the end.
 * It reads by schema and never recurses; `checkDer` walks a whole message once, so that what a schema skips is DER as well.
 */

import { tags } from '@signet/policy-engine/internal/der';

/** Bytes that are not the DER which the schema asks for. The message says what was expected, never the bytes. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

/** Nested elements deeper than this are refused; a certificate request needs nine. */
const maxDepth = 16;

interface Header {
  readonly tag: number;
  readonly content: number;
  readonly end: number;
}

function readLength(bytes: Uint8Array, at: number, end: number): { length: number; next: number } {
  const first = bytes[at];
  if (first === undefined || at >= end) throw new DerError('the input ends inside a length');
  if (first < 0x80) return { length: first, next: at + 1 };
  const count = first & 0x7f;
  if (count === 0) throw new DerError('indefinite lengths are not DER');
  if (count > 3) throw new DerError('a length is too large');
  let length = 0;
  for (let i = 1; i <= count; i += 1) {
    const octet = at + i < end ? bytes[at + i] : undefined;
    if (octet === undefined) throw new DerError('the input ends inside a length');
    length = length * 256 + octet;
  }
  if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw new DerError('a length is not in its shortest form');
  return { length, next: at + 1 + count };
}

function readHeader(bytes: Uint8Array, at: number, end: number): Header {
  const tag = bytes[at];
  if (tag === undefined) throw new DerError('the input ends where an element should begin');
  if ((tag & 0x1f) === 0x1f) throw new DerError('high tag numbers are not used here');
  const { length, next } = readLength(bytes, at + 1, end);
  if (length > end - next) throw new DerError('an element is longer than the input');
  return { tag, content: next, end: next + length };
}

/** Reads the elements of one constructed element (or of a whole message) in their order. */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** True when every element was read. */
  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** True when the next element has this tag. */
  next(tag: number): boolean {
    return this.#at < this.#end && this.#bytes[this.#at] === tag;
  }

  /** Enters the next element, which must have this tag, and answers a reader of its content. */
  enter(tag: number, what: string): DerReader {
    const header = this.#take(tag, what);
    return new DerReader(this.#bytes, header.content, header.end);
  }

  /** The content of the next element, which must have this tag. A view, not a copy. */
  content(tag: number, what: string): Buffer {
    const header = this.#take(tag, what);
    return this.#bytes.subarray(header.content, header.end);
  }

  /** The next element as it stands, tag and length included. A view, not a copy. */
  element(tag: number, what: string): Buffer {
    const start = this.#at;
    const header = this.#take(tag, what);
    return this.#bytes.subarray(start, header.end);
  }

  /** The next element, whatever it is. */
  any(what: string): { readonly tag: number; readonly content: Buffer; readonly element: Buffer } {
    if (this.done) throw new DerError(`${what} is missing`);
    const start = this.#at;
    const header = readHeader(this.#bytes, start, this.#end);
    this.#at = header.end;
    return {
      tag: header.tag,
      content: this.#bytes.subarray(header.content, header.end),
      element: this.#bytes.subarray(start, header.end),
    };
  }

  /** The bits of a BIT STRING of whole octets. */
  bits(what: string): Buffer {
    const content = this.content(tags.bitString, what);
    if (content[0] !== 0) throw new DerError(`${what} is not a string of whole octets`);
    return content.subarray(1);
  }

  /** The octets of an INTEGER that is not negative, without the sign octet. */
  unsigned(what: string): Buffer {
    const content = this.content(tags.integer, what);
    const [first, second] = content;
    if (first === undefined) throw new DerError(`${what} is empty`);
    if (first >= 0x80) throw new DerError(`${what} is negative`);
    if (first === 0 && second !== undefined) {
      if (second < 0x80) throw new DerError(`${what} is not in its shortest form`);
      return content.subarray(1);
    }
    return content;
  }

  /** Refuses what follows the last element that the schema knows. */
  finish(what: string): void {
    if (!this.done) throw new DerError(`${what} has more in it than it should`);
  }

  #take(tag: number, what: string): Header {
    if (this.#at >= this.#end) throw new DerError(`${what} is missing`);
    const header = readHeader(this.#bytes, this.#at, this.#end);
    if (header.tag !== tag) throw new DerError(`${what} has the wrong type`);
    this.#at = header.end;
    return header;
  }
}

/** Walks one message of nested elements and refuses what is not DER, deeper than sixteen levels or followed by anything. */
export function checkDer(bytes: Buffer): void {
  const ends: number[] = [];
  let at = 0;
  let end = bytes.length;
  do {
    const header = readHeader(bytes, at, end);
    if ((header.tag & 0x20) !== 0 && header.end > header.content) {
      if (ends.length >= maxDepth) throw new DerError('elements are nested too deeply');
      ends.push(end);
      at = header.content;
      end = header.end;
    } else {
      at = header.end;
    }
    if (ends.length === 0) break;
    while (at === end && ends.length > 0) end = ends.pop() ?? bytes.length;
  } while (ends.length > 0);
  if (at !== bytes.length) throw new DerError('the message is followed by other bytes');
}
