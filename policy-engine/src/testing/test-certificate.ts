import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { formatTimestamp } from '../clock.ts';
import { defaultServerIdentity } from '../server-identity.ts';
import { certificateThumbprint } from '../token/thumbprint.ts';
import { bitString, der, integer, oid, sequence, utf8 } from './der.ts';

/** A certificate for tests, with its private key. It works as either end of a TLS connection to `localhost`. */
export interface TestCertificate {
  /** DER: may be passed to `decide` as it is. */
  readonly raw: Uint8Array;
  /** PEM, for `node:tls`. */
  readonly pem: string;
  /** PEM (PKCS #8), for `node:tls`. */
  readonly key: string;
  /** As `cnf` of a token names it. */
  readonly thumbprint: string;
}

export interface TestCertificateInput {
  /** Subject common name, e.g. `media.player`, `sys.auth.server` for the token server, or `catalog:role.reader` for a role certificate; `''` for none. */
  commonName: string;
  /** Milliseconds since the epoch, both. */
  notBefore: number;
  notAfter: number;
}

/** Who signs: the issuer's common name and private key. */
export interface TestIssuer {
  readonly commonName: string;
  readonly privateKey: KeyObject;
}

const oids = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  basicConstraints: '551d13',
  keyUsage: '551d0f',
  extendedKeyUsage: '551d25',
  subjectAltName: '551d11',
  serverAuth: '2b06010505070301',
  clientAuth: '2b06010505070302',
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
    der(0xa0, integer(Uint8Array.of(2))),
    integer(Uint8Array.of(0x40, ...randomBytes(15))),
    algorithm,
    distinguishedName(signer.commonName),
    sequence(utcTime(input.notBefore), utcTime(input.notAfter)),
    distinguishedName(input.commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...(issuer === undefined ? authorityExtensions() : leafExtensions(input.commonName)))),
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
  return sequence(der(0x31, sequence(oid(oids.commonName), utf8(0x0c, commonName))));
}

/** UTCTime, good until 2049 (RFC 5280 §4.1.2.5.1). */
function utcTime(milliseconds: number): Uint8Array {
  return utf8(
    0x17,
    `${formatTimestamp(milliseconds)
      .replace(/[-:T]|\.\d+/g, '')
      .slice(2)}`,
  );
}

function authorityExtensions(): Uint8Array[] {
  return [
    extension(oids.basicConstraints, sequence(der(0x01, Uint8Array.of(0xff))), true),
    extension(oids.keyUsage, der(0x03, Uint8Array.of(1, 0x06)), true),
  ];
}

function leafExtensions(commonName: string): Uint8Array[] {
  // what its clients know the token server by
  const isServer = commonName === defaultServerIdentity;
  const uris = isServer ? [utf8(0x86, `spiffe://signet.test/ns/default/sa/${commonName}`)] : [];
  const hosts = [utf8(0x82, 'localhost'), der(0x87, Uint8Array.of(127, 0, 0, 1))];
  return [
    extension(oids.basicConstraints, sequence(), true),
    extension(oids.keyUsage, der(0x03, Uint8Array.of(7, 0x80)), true),
    extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth), oid(oids.clientAuth)), false),
    extension(oids.subjectAltName, sequence(...uris, ...hosts), false),
  ];
}

function extension(id: string, value: Uint8Array, critical: boolean): Uint8Array {
  const flag = critical ? [der(0x01, Uint8Array.of(0xff))] : [];
  return sequence(oid(id), ...flag, der(0x04, value));
}

function pem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
