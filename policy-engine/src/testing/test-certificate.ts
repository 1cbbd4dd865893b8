import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { formatTimestamp } from '../clock.ts';
import {
  bitString,
  derTrue,
  element,
  octetString,
  oid,
  sequence,
  set,
  tags,
  unsigned,
  utf8String,
} from '../der/der-writer.ts';
import { defaultServerIdentity } from '../server-identity.ts';
import { certificateThumbprint } from '../token/thumbprint.ts';

/** A certificate for tests, with its private key. It works as either end of a TLS connection to `localhost`. */
export interface TestCertificate {
  /** DER: may be passed to `decide` as it is. */
  readonly raw: Uint8Array;
  /** PEM, for `node:tls`. */
  readonly pem: string;
  /** PEM (PKCS #8), for `node:tls`. */
  readonly key: string;
  /** Thumbprint in the form of a token's `cnf`. */
  readonly thumbprint: string;
}

interface TestCertificateInput {
  /** Subject common name, e.g. `media.player`, `sys.auth.server` for the token server, or `catalog:role.reader` for a role certificate; `''` for none. */
  commonName: string;
  /** Milliseconds since the epoch, both. */
  notBefore: number;
  notAfter: number;
}

/** Issuer: its common name and private key. */
interface TestIssuer {
  readonly commonName: string;
  readonly privateKey: KeyObject;
}

const oids = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectAltName: '2.5.29.17',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

/** Makes a self-signed authority certificate, or with an issuer a leaf. */
export function makeCertificate(
  input: TestCertificateInput,
  issuer?: TestIssuer,
): { certificate: TestCertificate; issuer: TestIssuer } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const self = { commonName: input.commonName, privateKey };
  const signer = issuer ?? self;
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const toBeSigned = sequence(
    element(0xa0, unsigned(Uint8Array.of(2))),
    unsigned(Uint8Array.of(0x40, ...randomBytes(15))),
    algorithm,
    distinguishedName(signer.commonName),
    sequence(utcTime(input.notBefore), utcTime(input.notAfter)),
    distinguishedName(input.commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...(issuer === undefined ? authorityExtensions() : leafExtensions(input.commonName)))),
  );
  const raw = sequence(toBeSigned, algorithm, bitString(sign('sha256', toBeSigned, signer.privateKey)));
  const certificate = {
    raw,
    pem: pem('CERTIFICATE', raw),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    thumbprint: certificateThumbprint(raw),
  };
  return { certificate, issuer: self };
}

function distinguishedName(commonName: string): Uint8Array {
  if (commonName === '') return sequence();
  return sequence(set(sequence(oid(oids.commonName), utf8String(commonName))));
}

/** UTCTime, good until 2049 (RFC 5280 §4.1.2.5.1). */
function utcTime(milliseconds: number): Uint8Array {
  const digits = formatTimestamp(milliseconds).replace(/[-:T]|\.\d+/g, '');
  return element(tags.utcTime, Buffer.from(digits.slice(2), 'latin1'));
}

function authorityExtensions(): Uint8Array[] {
  return [
    extension(oids.basicConstraints, sequence(derTrue), true),
    extension(oids.keyUsage, element(tags.bitString, Uint8Array.of(1, 0x06)), true),
  ];
}

function leafExtensions(commonName: string): Uint8Array[] {
  // name by which clients of the token server know it
  const isServer = commonName === defaultServerIdentity;
  const uris = isServer ? [element(0x86, Buffer.from(`spiffe://signet.test/ns/default/sa/${commonName}`))] : [];
  const hosts = [element(0x82, Buffer.from('localhost')), element(0x87, Uint8Array.of(127, 0, 0, 1))];
  return [
    extension(oids.basicConstraints, sequence(), true),
    extension(oids.keyUsage, element(tags.bitString, Uint8Array.of(7, 0x80)), true),
    extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth), oid(oids.clientAuth)), false),
    extension(oids.subjectAltName, sequence(...uris, ...hosts), false),
  ];
}

function extension(id: string, value: Uint8Array, critical: boolean): Uint8Array {
  const flag = critical ? [derTrue] : [];
  return sequence(oid(id), ...flag, octetString(value));
}

function pem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
