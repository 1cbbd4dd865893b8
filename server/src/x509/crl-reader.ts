import type { KeyObject } from 'node:crypto';
import { DerError, DerReader, tags } from '@signet/policy-engine/internal/der';
import { readTime } from './certificate-times.ts';
import { oids } from './oids.ts';
import { isSignedBy, readSignatureAlgorithm, type SignatureAlgorithm } from './signature-algorithm.ts';

/** The fields of a certificate revocation list (RFC 5280 §5.1). Nothing about it was verified. Times in seconds since the epoch. */
export interface ReadCrl {
  /** The Name element as it stands. */
  readonly issuer: Buffer;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  /** 0 when the list has none. */
  readonly number: bigint;
  /** The content of the list of entries; empty when nothing is revoked. */
  readonly entries: Buffer;
  readonly algorithm: SignatureAlgorithm;
  readonly signed: Buffer;
  readonly signature: Buffer;
}

/** Reads a DER list of version 2. What stands in its entries is not looked at. Throws `DerError`. */
export function readCrl(der: Buffer): ReadCrl {
  const whole = new DerReader(der);
  const outer = whole.enter(tags.sequence, 'the list');
  whole.finish('the list');
  const signed = outer.element(tags.sequence, 'the signed part');
  const algorithm = readSignatureAlgorithm(outer);
  if (algorithm === undefined) throw new DerError('the signature must be ECDSA or RSA PKCS #1 with SHA-2, or Ed25519');
  const signature = outer.bits('the signature');
  outer.finish('the list');

  const info = new DerReader(signed).enter(tags.sequence, 'the signed part');
  if (!info.content(tags.integer, 'the version').equals(version2)) throw new DerError('the version must be 2');
  info.element(tags.sequence, 'the signature algorithm');
  const issuer = info.element(tags.sequence, 'the issuer');
  const thisUpdate = readTime(info, 'thisUpdate');
  const nextUpdate = readTime(info, 'nextUpdate');
  const entries = info.next(tags.sequence) ? info.content(tags.sequence, 'the entries') : Buffer.alloc(0);
  const number = numberIn(info.enter(0xa0, 'the extensions').enter(tags.sequence, 'the extensions'));
  info.finish('the signed part');
  return { issuer, thisUpdate, nextUpdate, number, entries, algorithm, signed, signature };
}

const version2 = Uint8Array.of(1);

function numberIn(extensions: DerReader): bigint {
  let number = 0n;
  while (!extensions.done) {
    const extension = extensions.enter(tags.sequence, 'an extension');
    const type = extension.oid('the extension type');
    if (extension.next(tags.boolean)) extension.content(tags.boolean, 'the critical flag');
    const value = extension.content(tags.octetString, 'the extension value');
    extension.finish('an extension');
    if (type !== oids.crlNumber.hex) continue;
    number = BigInt(`0x${new DerReader(value).unsigned('the number of the list').toString('hex')}`);
  }
  return number;
}

/** True if a list is one of this authority: by its name, and signed with its key. */
export function isCrlOf(
  crl: ReadCrl,
  { name, publicKey: key }: { readonly name: Buffer; readonly publicKey: KeyObject },
): boolean {
  return crl.issuer.equals(name) && isSignedBy({ family: key.asymmetricKeyType, key }, crl.algorithm, crl);
}

/** Each entry of a list as it stands, and the serial number that it is about, lower-case hexadecimal. Throws `DerError`. */
export function entriesOf({ entries }: ReadCrl): readonly { readonly serial: string; readonly element: Buffer }[] {
  const reader = new DerReader(entries);
  const found: { serial: string; element: Buffer }[] = [];
  while (!reader.done) {
    const element = reader.element(tags.sequence, 'an entry');
    const serial = new DerReader(element)
      .enter(tags.sequence, 'an entry')
      .unsigned('the serial number')
      .toString('hex');
    found.push({ serial, element });
  }
  return found;
}

/** A list from a file: DER, or one block of PEM. Throws `DerError`. */
export function crlFromFile(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  const blocks = [...text.matchAll(/-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/g)];
  if (blocks.length > 1) throw new DerError('the file must hold one list');
  const [, body] = blocks[0] ?? [];
  return body === undefined ? bytes : Buffer.from(body, 'base64');
}
