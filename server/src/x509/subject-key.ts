import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { DerReader, tags } from '@signet/policy-engine/internal/der';
import { InvalidRequestError } from '../errors.ts';
import { oids } from './oids.ts';
import { toPem } from './pem.ts';

export type KeyKind = 'P-256' | 'P-384' | 'rsa' | 'ed25519';

/** A public key as a certificate carries it, of a kind and size that we certify. */
export interface SubjectKey {
  readonly kind: KeyKind;
  /** The SubjectPublicKeyInfo as it stands in the request (RFC 5280 §4.1.2.7). */
  readonly spki: Buffer;
  /** 160 bits of SHA-256 over the key's bits (RFC 7093 §2 method 1). */
  readonly keyIdentifier: Buffer;
}

const minRsaBits = 2048;
const maxRsaBits = 8192;
const pointLengths = { 'P-256': 65, 'P-384': 97 } as const;

function refuse(message: string): never {
  throw new InvalidRequestError(`csr public key: ${message}`);
}

function curveOf(algorithm: DerReader): 'P-256' | 'P-384' {
  if (!algorithm.next(tags.oid)) refuse('a curve must be named, its parameters are not accepted');
  const curve = algorithm.oid('the curve');
  if (curve === oids.prime256v1.hex) return 'P-256';
  if (curve === oids.secp384r1.hex) return 'P-384';
  return refuse('the curve must be P-256 or P-384');
}

function checkPoint(bits: Buffer, kind: 'P-256' | 'P-384'): void {
  if (bits.length !== pointLengths[kind] || bits[0] !== 4) refuse('the point must be uncompressed and of its curve');
}

/* Sizes are compared before any arithmetic: the cost of checking a signature grows with the square and more of them. */
function checkRsa(bits: Buffer): void {
  const outer = new DerReader(bits);
  const inner = outer.enter(tags.sequence, 'the RSA key');
  outer.finish('the RSA key');
  const modulus = inner.unsigned('the modulus');
  const exponent = inner.unsigned('the exponent');
  inner.finish('the RSA key');
  const size = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (size < minRsaBits || size > maxRsaBits) refuse(`RSA keys must have ${minRsaBits} to ${maxRsaBits} bits`);
  if (((modulus.at(-1) ?? 0) & 1) === 0) refuse('the RSA modulus must be odd');
  const value = exponent.length > 4 ? 0 : exponent.readUIntBE(0, exponent.length);
  if (value < 3 || value % 2 === 0) refuse('the RSA exponent must be odd, 3 or more and below 2^32');
}

function parseKind(reader: DerReader): { readonly kind: KeyKind; readonly bits: Buffer } {
  const info = reader.enter(tags.sequence, 'the public key');
  reader.finish('the public key');
  const algorithm = info.enter(tags.sequence, 'the key algorithm');
  const name = algorithm.oid('the key algorithm');
  const ec = name === oids.ecPublicKey.hex ? curveOf(algorithm) : undefined;
  if (name === oids.rsaEncryption.hex && !algorithm.done) algorithm.content(tags.null, 'the key parameters');
  algorithm.finish('the key algorithm');
  const bits = info.bits('the key bits');
  info.finish('the public key');
  if (ec !== undefined) {
    checkPoint(bits, ec);
    return { kind: ec, bits };
  }
  if (name === oids.rsaEncryption.hex) {
    checkRsa(bits);
    return { kind: 'rsa', bits };
  }
  if (name === oids.ed25519.hex && bits.length === 32) return { kind: 'ed25519', bits };
  return refuse('the key must be P-256, P-384, RSA or Ed25519');
}

/** Text form: octets are first tried as a key of several kinds, each with an exception, and that costs more than the key itself. */
export function subjectKeyPem({ spki }: Pick<SubjectKey, 'spki'>): string {
  return toPem('PUBLIC KEY', spki);
}

/** Throws `InvalidRequestError` for what is of the form of a key and none, such as a point that is not on its curve. */
export function loadSubjectKey(key: Pick<SubjectKey, 'spki'>): KeyObject {
  try {
    return createPublicKey(subjectKeyPem(key));
  } catch (cause) {
    throw new InvalidRequestError('csr public key: it is not a valid key of its kind', { cause });
  }
}

/**
 * Reads a SubjectPublicKeyInfo from untrusted input: P-256, P-384, RSA of 2048 to 8192 bits, Ed25519. Kind and size are
 * checked, and nothing that needs arithmetic: whether it is a key shows when it is used. Throws `InvalidRequestError`, or `DerError` for what is not DER.
 */
export function parseSubjectKey(spki: Buffer): SubjectKey {
  const { kind, bits } = parseKind(new DerReader(spki));
  return { kind, spki, keyIdentifier: keyIdentifierOf(bits) };
}

/** The bits of a SubjectPublicKeyInfo that was checked before. */
export function keyBits(spki: Buffer): Buffer {
  const info = new DerReader(spki).enter(tags.sequence, 'the public key');
  info.element(tags.sequence, 'the key algorithm');
  return info.bits('the key bits');
}

/** 160 bits of SHA-256 over the bits of a key (RFC 7093 §2 method 1). */
export function keyIdentifierOf(bits: Buffer): Buffer {
  return Buffer.from(hash('sha256', bits, 'hex').slice(0, 40), 'hex');
}
