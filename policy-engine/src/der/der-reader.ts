/*
 * A strict reader of DER (X.690 §8 and §10): definite lengths in the fewest octets, low tag numbers, nothing after the end.
 * It reads by schema and never recurses; `checkDer` walks a whole message once, so that what a schema skips is DER as well.
 */

import { tags } from './der-writer.ts';

/** Bytes that are not the DER which the schema asks for. The message says what was expected, never the bytes. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

/** Nested elements deeper than this are refused; a certificate request needs nine. */
const maxDepth = 16;

interface Header {
  tag: number;
  content: number;
  end: number;
}

/** The one that was read last: a message has more headers than anything else, and none is needed after the next. */
const header: Header = { tag: 0, content: 0, end: 0 };

/** Reads the header at `at`. It is the same object each time: what is needed after the next header is copied. */
function readHeader(bytes: Uint8Array, at: number, end: number): Readonly<Header> {
  const tag = bytes[at];
  if (tag === undefined) throw new DerError('the input ends where an element should begin');
  if ((tag & 0x1f) === 0x1f) throw new DerError('high tag numbers are not used here');
  const first = bytes[at + 1];
  if (first === undefined || at + 1 >= end) throw new DerError('the input ends inside a length');
  const octets = first < 0x80 ? 0 : first & 0x7f;
  const length = first < 0x80 ? first : readLongLength(bytes, { at: at + 2, end, octets });
  const content = at + 2 + octets;
  if (length > end - content) throw new DerError('an element is longer than the input');
  header.tag = tag;
  header.content = content;
  header.end = content + length;
  return header;
}

function readLongLength(
  bytes: Uint8Array,
  { at, end, octets }: { readonly at: number; readonly end: number; readonly octets: number },
): number {
  if (octets === 0) throw new DerError('indefinite lengths are not DER');
  if (octets > 3) throw new DerError('a length is too large');
  let length = 0;
  for (let i = 0; i < octets; i += 1) {
    const octet = at + i < end ? bytes[at + i] : undefined;
    if (octet === undefined) throw new DerError('the input ends inside a length');
    length = length * 256 + octet;
  }
  if (length < 0x80 || length < 2 ** (8 * (octets - 1))) throw new DerError('a length is not in its shortest form');
  return length;
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
    const { content, end } = this.#take(tag, what);
    return new DerReader(this.#bytes, content, end);
  }

  /** The content of the next element, which must have this tag. A view, not a copy. */
  content(tag: number, what: string): Buffer {
    const { content, end } = this.#take(tag, what);
    return this.#bytes.subarray(content, end);
  }

  /** The next element as it stands, tag and length included. A view, not a copy. */
  element(tag: number, what: string): Buffer {
    const start = this.#at;
    return this.#bytes.subarray(start, this.#take(tag, what).end);
  }

  /** The next element, an OBJECT IDENTIFIER, in hexadecimal, tag and length included. */
  oid(what: string): string {
    const start = this.#at;
    return this.#bytes.toString('hex', start, this.#take(tags.oid, what).end);
  }

  /** The next element, whatever it is. */
  any(what: string): { readonly tag: number; readonly content: Buffer } {
    if (this.done) throw new DerError(`${what} is missing`);
    const { tag, content, end } = readHeader(this.#bytes, this.#at, this.#end);
    this.#at = end;
    return { tag, content: this.#bytes.subarray(content, end) };
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

  #take(tag: number, what: string): Readonly<Header> {
    if (this.#at >= this.#end) throw new DerError(`${what} is missing`);
    const taken = readHeader(this.#bytes, this.#at, this.#end);
    if (taken.tag !== tag) throw new DerError(`${what} has the wrong type`);
    this.#at = taken.end;
    return taken;
  }
}

/** Walks one message of nested elements and refuses what is not DER, deeper than sixteen levels or followed by anything. */
export function checkDer(bytes: Buffer): void {
  const ends: number[] = [];
  let at = 0;
  let end = bytes.length;
  do {
    const element = readHeader(bytes, at, end);
    if ((element.tag & 0x20) !== 0 && element.end > element.content) {
      if (ends.length >= maxDepth) throw new DerError('elements are nested too deeply');
      ends.push(end);
      at = element.content;
      end = element.end;
    } else {
      at = element.end;
    }
    if (ends.length === 0) break;
    while (at === end && ends.length > 0) end = ends.pop() ?? bytes.length;
  } while (ends.length > 0);
  if (at !== bytes.length) throw new DerError('the message is followed by other bytes');
}
