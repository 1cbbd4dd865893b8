import { verify } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { certificateKindNumbers, certificateType } from './sign-certificate.ts';
import type { SshAuthority } from './ssh-authority.ts';
import type { SshCertificateKind, SshProfile } from './ssh-profile.ts';
import {
  readSshKeyFields,
  readSshPublicKey,
  type SshKeyType,
  type SshPublicKey,
  sshKeyTypes,
} from './ssh-public-key.ts';
import { SshReader, SshWireError } from './wire.ts';

/** An SSH certificate as it was read. Its signature holds; nothing else about it has been judged. */
interface SshCertificate {
  readonly kind: SshCertificateKind;
  readonly subject: { readonly type: SshKeyType; readonly fields: Buffer };
  readonly serial: bigint;
  readonly keyId: string;
  readonly principals: readonly string[];
  /** Seconds since the epoch. */
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly criticalOptions: readonly (readonly [name: string, value: string])[];
  readonly extensions: readonly string[];
  readonly authority: SshPublicKey;
}

/** A certificate longer than this is refused unread. */
export const maxCertificateLength = 32_768;

/** Reads a certificate's blob and checks its signature against the authority key in it. Throws `SshWireError`. */
export function readSshCertificate(blob: Uint8Array): SshCertificate {
  if (blob.length > maxCertificateLength) throw new SshWireError('the certificate is too long');
  const reader = new SshReader(blob);
  const name = reader.string('the certificate type').toString('latin1');
  const type = sshKeyTypes.find((known) => certificateType(known) === name);
  if (type === undefined) throw new SshWireError('the certificate type is not one that we issue');
  reader.string('the nonce');
  const { fields } = readSshKeyFields(type, reader);
  const body = readBody(reader);
  const authority = readSshPublicKey(reader.string('the authority'));
  const signed = blob.subarray(0, reader.offset);
  const signature = reader.string('the signature');
  reader.finish('the certificate');
  if (!isSignedBy(authority, signed, signature)) throw new SshWireError('the signature does not hold');
  return { subject: { type, fields }, ...body, authority };
}

/**
 * Parses the signed bytes and compares every field with the order, before the certificate leaves. Throws an `Error` that names the first field
 * that differs: this is a bug of the server, never the caller's fault.
 */
export function checkIssuedSshCertificate(
  blob: Uint8Array,
  profile: SshProfile,
  subject: SshPublicKey,
  authority: SshAuthority,
): void {
  const { authority: signer, subject: certified, validAfter, validBefore, ...issued } = readSshCertificate(blob);
  const { validAfter: from, validBefore: until, ...wanted } = profile;
  for (const [field, value] of Object.entries(wanted)) {
    if (!isDeepStrictEqual(new Map(Object.entries(issued)).get(field), value)) throw differs(field);
  }
  if (validAfter !== BigInt(from) || validBefore !== BigInt(until)) throw differs('validity');
  if (certified.type !== subject.type || !certified.fields.equals(subject.fields)) throw differs('subject key');
  if (!signer.blob.equals(authority.publicKey.blob)) throw differs('authority');
  if (issued.principals.length === 0) throw differs('principals');
}

function differs(field: string): Error {
  return new Error(`signed SSH certificate differs from its profile: ${field}`);
}

function readBody(reader: SshReader): Omit<SshCertificate, 'subject' | 'authority'> {
  const serial = reader.uint64('the serial number');
  const number = reader.uint32('the kind');
  const kind =
    number === certificateKindNumbers.user ? 'user' : number === certificateKindNumbers.host ? 'host' : undefined;
  if (kind === undefined) throw new SshWireError('the kind must be user or host');
  const keyId = reader.text('the key id');
  const principals = readAll(reader.string('the principals'), (inner) => inner.text('a principal'));
  const validAfter = reader.uint64('the validity');
  const validBefore = reader.uint64('the validity');
  const criticalOptions = readAll(reader.string('the critical options'), readOption);
  const extensions = readAll(reader.string('the extensions'), readExtension);
  checkOrder(criticalOptions.map(([option]) => option));
  checkOrder(extensions);
  reader.string('the reserved field');
  return { kind, serial, keyId, principals, validAfter, validBefore, criticalOptions, extensions };
}

function readOption(reader: SshReader): readonly [string, string] {
  const name = reader.text('an option');
  const data = new SshReader(reader.string('the data of an option'));
  const value = data.text('the value of an option');
  data.finish('the value of an option');
  return [name, value];
}

function readExtension(reader: SshReader): string {
  const name = reader.text('an extension');
  if (reader.string('the data of an extension').length > 0) throw new SshWireError('extensions carry no data');
  return name;
}

function checkOrder(names: readonly string[]): void {
  if (names.some((name, index) => index > 0 && name <= (names[index - 1] ?? ''))) {
    throw new SshWireError('options and extensions must be in order, each once');
  }
}

function readAll<T>(bytes: Uint8Array, read: (reader: SshReader) => T): T[] {
  const reader = new SshReader(bytes);
  const found: T[] = [];
  while (!reader.done) found.push(read(reader));
  return found;
}

/* True for the algorithms of the server's authorities: Ed25519 and P-256 with SHA-256. */
function isSignedBy(authority: SshPublicKey, data: Uint8Array, signature: Buffer): boolean {
  const reader = new SshReader(signature);
  if (reader.string('the signature algorithm').toString('latin1') !== authority.type) return false;
  const bytes = reader.string('the signature');
  reader.finish('the signature');
  if (authority.type === 'ssh-ed25519') return verify(null, data, authority.key, bytes);
  return authority.type === 'ecdsa-sha2-nistp256' && isEcdsaSignature(authority, data, bytes);
}

function isEcdsaSignature(authority: SshPublicKey, data: Uint8Array, signature: Buffer): boolean {
  const reader = new SshReader(signature);
  const [r, s] = [reader.mpint('the signature'), reader.mpint('the signature')];
  reader.finish('the signature');
  if (r.length > 32 || s.length > 32) return false;
  const fixed = Buffer.concat([Buffer.alloc(32 - r.length), r, Buffer.alloc(32 - s.length), s]);
  return verify('sha256', data, { key: authority.key, dsaEncoding: 'ieee-p1363' }, fixed);
}
