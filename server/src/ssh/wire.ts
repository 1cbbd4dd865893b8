/*
 * The data types of SSH (RFC 4251 §5). Writers are functions that answer the bytes of one field, to be concatenated; the
 * reader is for untrusted input: it never reads past the end, never recurses and copies nothing larger than its input.
 */

/** Bytes that are not the fields that were asked for. The message says what was expected, never the bytes. */
export class SshWireError extends Error {
  override readonly name = 'SshWireError';
}

export function writeUint8(value: number): Buffer {
  return Buffer.from([value]);
}

export function writeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function writeUint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** A `string`: its length, then its bytes. Text is written as UTF-8. */
export function writeString(value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([writeUint32(bytes.length), bytes]);
}

/** An `mpint` that is not negative, from its big-endian magnitude: no leading zeros but the one that keeps the sign. */
export function writeMpint(magnitude: Uint8Array): Buffer {
  let start = 0;
  while (magnitude[start] === 0) start += 1;
  const digits = magnitude.subarray(start);
  return writeString((digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits);
}

/** Several fields packed into one `string`. */
export function writePacked(fields: readonly Uint8Array[]): Buffer {
  return writeString(Buffer.concat(fields));
}

/** Reads fields one after the other. Every method throws `SshWireError`; `what` names the field in its message. */
export class SshReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** How many bytes have been read. */
  get offset(): number {
    return this.#at;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  uint8(what: string): number {
    return this.#take(1, what).readUInt8();
  }

  uint32(what: string): number {
    return this.#take(4, what).readUInt32BE();
  }

  uint64(what: string): bigint {
    return this.#take(8, what).readBigUInt64BE();
  }

  /** The bytes of a `string`, a view of the input. */
  string(what: string): Buffer {
    return this.#take(this.uint32(what), what);
  }

  /** A `string` that is UTF-8 text without control characters. */
  text(what: string): string {
    const bytes = this.string(what);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text, 'utf8').equals(bytes) || /\p{Cc}/u.test(text)) throw new SshWireError(`${what} is not text`);
    return text;
  }

  /** The magnitude of an `mpint` that is greater than zero and in its shortest form. */
  mpint(what: string): Buffer {
    const bytes = this.string(what);
    const [first = 0, second = 0] = bytes;
    if (bytes.length === 0 || first >= 0x80) throw new SshWireError(`${what} must be greater than zero`);
    if (first === 0 && second < 0x80) throw new SshWireError(`${what} is not in its shortest form`);
    return first === 0 ? bytes.subarray(1) : bytes;
  }

  /** Throws when something follows. */
  finish(what: string): void {
    if (!this.done) throw new SshWireError(`${what} is followed by more bytes`);
  }

  #take(length: number, what: string): Buffer {
    if (length > this.#bytes.length - this.#at) throw new SshWireError(`the input ends inside ${what}`);
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }
}
