import { createHash } from 'node:crypto';

/* Arithmetic on P-256 (FIPS 186-5, SP 800-186 §3.2.1.3), for signatures that no honest signer would meet in a lifetime. */

const p = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
const generator: Point = {
  x: 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
  y: 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
};

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

function modulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

function power(base: bigint, exponent: bigint, by: bigint): bigint {
  let result = 1n;
  let square = modulo(base, by);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % by;
    square = (square * square) % by;
  }
  return result;
}

const inverse = (value: bigint, by: bigint): bigint => power(value, by - 2n, by);

function add(one: Point | undefined, other: Point | undefined): Point | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.x === other.x && one.y !== other.y) return undefined;
  const slope =
    one.x === other.x
      ? (3n * one.x * one.x - 3n) * inverse(2n * one.y, p)
      : (other.y - one.y) * inverse(modulo(other.x - one.x, p), p);
  const x = modulo(slope * slope - one.x - other.x, p);
  return { x, y: modulo(slope * (one.x - x) - one.y, p) };
}

function multiply(factor: bigint, point: Point): Point | undefined {
  let result: Point | undefined;
  let double: Point | undefined = point;
  for (let left = factor; left > 0n; left >>= 1n) {
    if (left & 1n) result = add(result, double);
    double = add(double, double);
  }
  return result;
}

function octets(value: bigint, length: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex');
}

/**
 * A signature whose DER is exactly 64 bytes long, as r and s side by side are, and the key that it is of: chosen r and s of 29 bytes,
 * and the public key that they are a signature of (SEC 1 §4.1.6).
 */
export function signatureOf64Bytes(text: string): { signature: Buffer; jwk: Readonly<Record<string, string>> } {
  const s = 0x7fn << 224n;
  let r = 0x11n << 224n;
  let y: bigint;
  for (;;) {
    const square = modulo(r ** 3n - 3n * r + b, p);
    y = power(square, (p + 1n) / 4n, p);
    if ((y * y) % p === square) break;
    r += 1n;
  }
  const digest = BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
  const sum = add(multiply(s, { x: r, y }), multiply(modulo(-digest, n), generator));
  const key = sum && multiply(inverse(r, n), sum);
  if (key === undefined) throw new Error('no such key');
  const integer = (value: bigint) => Buffer.concat([Buffer.of(2, 29), octets(value, 29)]);
  const coordinate = (value: bigint) => octets(value, 32).toString('base64url');
  return {
    signature: Buffer.concat([Buffer.of(0x30, 62), integer(r), integer(s)]),
    jwk: { kty: 'EC', crv: 'P-256', x: coordinate(key.x), y: coordinate(key.y) },
  };
}
