import { oid } from '@signet/policy-engine/internal/der';

/** An object identifier as it stands in a message (tag and length included), and in hexadecimal to compare by. */
export interface Oid {
  readonly der: Buffer;
  readonly hex: string;
}

function known(dotted: string): Oid {
  const der = oid(dotted);
  return { der, hex: der.toString('hex') };
}

export const oids = {
  /* RFC 5480, 3279, 8410: keys */
  ecPublicKey: known('1.2.840.10045.2.1'),
  prime256v1: known('1.2.840.10045.3.1.7'),
  secp384r1: known('1.3.132.0.34'),
  rsaEncryption: known('1.2.840.113549.1.1.1'),
  ed25519: known('1.3.101.112'),
  /* RFC 5758, 4055, 8410: signatures */
  ecdsaWithSha256: known('1.2.840.10045.4.3.2'),
  ecdsaWithSha384: known('1.2.840.10045.4.3.3'),
  ecdsaWithSha512: known('1.2.840.10045.4.3.4'),
  sha256WithRsa: known('1.2.840.113549.1.1.11'),
  sha384WithRsa: known('1.2.840.113549.1.1.12'),
  sha512WithRsa: known('1.2.840.113549.1.1.13'),
  /* RFC 5280 §4.1.2.4: names */
  commonName: known('2.5.4.3'),
  country: known('2.5.4.6'),
  locality: known('2.5.4.7'),
  stateOrProvince: known('2.5.4.8'),
  organization: known('2.5.4.10'),
  organizationalUnit: known('2.5.4.11'),
  /* RFC 2986, 2985: requests */
  extensionRequest: known('1.2.840.113549.1.9.14'),
  /* RFC 5280 §4.2, §5.2: extensions */
  subjectKeyIdentifier: known('2.5.29.14'),
  keyUsage: known('2.5.29.15'),
  subjectAltName: known('2.5.29.17'),
  basicConstraints: known('2.5.29.19'),
  crlNumber: known('2.5.29.20'),
  crlReason: known('2.5.29.21'),
  nameConstraints: known('2.5.29.30'),
  crlDistributionPoints: known('2.5.29.31'),
  authorityKeyIdentifier: known('2.5.29.35'),
  extendedKeyUsage: known('2.5.29.37'),
  serverAuth: known('1.3.6.1.5.5.7.3.1'),
  clientAuth: known('1.3.6.1.5.5.7.3.2'),
} as const;
