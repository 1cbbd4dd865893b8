import {
  checkDer,
  DerError,
  DerReader,
  type Extension,
  readExtensions,
  tags,
} from '@signet/policy-engine/internal/der';
import { readTime } from './certificate-times.ts';
import { type RelativeName, readName } from './distinguished-name.ts';
import { oids } from './oids.ts';
import { toPem } from './pem.ts';
import { type AltName, readAltNames } from './subject-alt-names.ts';

/** The fields of an X.509 certificate (RFC 5280 §4.1). Nothing about it was verified. */
export interface ReadCertificate {
  readonly tbs: Buffer;
  /** Lower-case hexadecimal without leading zero octets. */
  readonly serial: string;
  /** The whole AlgorithmIdentifier, inside and outside of the signed part. */
  readonly innerAlgorithm: Buffer;
  readonly outerAlgorithm: Buffer;
  /** Name elements as they stand. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly subjectNames: readonly RelativeName[];
  /** Seconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly spki: Buffer;
  /** Extensions by the object identifier in hexadecimal, in their order. */
  readonly extensions: ReadonlyMap<string, Extension>;
  readonly signature: Buffer;
}

/** Reads a DER certificate of version 3. Throws `DerError`. */
export function readCertificate(der: Buffer): ReadCertificate {
  checkDer(der);
  const outer = new DerReader(der).enter(tags.sequence, 'the certificate');
  const tbs = outer.element(tags.sequence, 'the signed part');
  const outerAlgorithm = outer.element(tags.sequence, 'the signature algorithm');
  const signature = outer.bits('the signature');
  outer.finish('the certificate');

  const info = new DerReader(tbs).enter(tags.sequence, 'the signed part');
  const version = info.enter(0xa0, 'the version').content(tags.integer, 'the version');
  if (version.length !== 1 || version[0] !== 2) throw new DerError('the version must be 3');
  const serial = info.unsigned('the serial number').toString('hex');
  const innerAlgorithm = info.element(tags.sequence, 'the signature algorithm');
  const issuer = info.element(tags.sequence, 'the issuer');
  const validity = info.enter(tags.sequence, 'the validity');
  const notBefore = readTime(validity, 'notBefore');
  const notAfter = readTime(validity, 'notAfter');
  validity.finish('the validity');
  const subject = info.element(tags.sequence, 'the subject');
  const spki = info.element(tags.sequence, 'the public key');
  const extensions = info.done
    ? new Map<string, Extension>()
    : readExtensions(info.enter(0xa3, 'the extensions').enter(tags.sequence, 'the extensions'));
  info.finish('the signed part');
  const subjectNames = readName(new DerReader(subject));
  return {
    tbs,
    serial,
    innerAlgorithm,
    outerAlgorithm,
    issuer,
    subject,
    subjectNames,
    notBefore,
    notAfter,
    spki,
    extensions,
    signature,
  };
}

/** The alternative names of a certificate; none when it has no such extension. Throws `DerError`. */
export function altNamesOf(certificate: ReadCertificate): readonly AltName[] {
  const extension = certificate.extensions.get(oids.subjectAltName.hex);
  return extension === undefined ? [] : readAltNames(extension.value);
}

/** The subject key identifier of a certificate, if it has one. Throws `DerError`. */
export function keyIdentifierIn(certificate: ReadCertificate): Buffer | undefined {
  const extension = certificate.extensions.get(oids.subjectKeyIdentifier.hex);
  return extension && new DerReader(extension.value).content(tags.octetString, 'the key identifier');
}

/** The certificates of a PEM text in their order, in DER. Throws `DerError` when there is none. */
export function certificatesInPem(pem: string): readonly Buffer[] {
  const blocks = pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g);
  const certificates = [...blocks].map(([, body = '']) => Buffer.from(body, 'base64'));
  if (certificates.length === 0) throw new DerError('there is no certificate in PEM form');
  return certificates;
}

/** A DER certificate in PEM form, lines of 64 characters, with a final line end. */
export function certificateToPem(der: Buffer): string {
  return toPem('CERTIFICATE', der);
}
