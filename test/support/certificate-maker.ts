import 'reflect-metadata';
import { createPrivateKey, type webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { toDate } from '@signet/policy-engine/clock';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;

/** A certificate that can issue others, whether it says that it may or not. */
export interface MadeCertificate {
  readonly certificate: X509Certificate;
  readonly pem: string;
  /** PEM (PKCS #8). */
  readonly key: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

export interface CertificateWish {
  readonly name: string;
  /** Default: itself. */
  readonly issuer?: MadeCertificate;
  /** Default: false; `unsaid`: without the extension. */
  readonly isAuthority?: boolean | 'unsaid';
  /** Default: no bound. */
  readonly pathLength?: number;
  /** Bits of an RSA key; default: a key of P-256. */
  readonly rsaBits?: number;
  /** Milliseconds since the epoch; default: an hour before and after `now`. */
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly now?: number;
  /** OIDs; default none. */
  readonly usages?: readonly string[];
  readonly extensions?: readonly x509.Extension[];
}

function keyAlgorithm(rsaBits: number | undefined) {
  if (rsaBits === undefined) return algorithm;
  const publicExponent = new Uint8Array([1, 0, 1]);
  return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: rsaBits, publicExponent };
}

/** Makes a certificate with the wished faults; nothing is checked. */
export async function makeCertificate(wish: CertificateWish): Promise<MadeCertificate> {
  const keys = await crypto.subtle.generateKey(keyAlgorithm(wish.rsaBits), true, ['sign', 'verify']);
  const now = wish.now ?? 1_767_225_600_000;
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: `40${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('hex')}`,
    subject: `CN=${wish.name}`,
    issuer: wish.issuer?.certificate.subject.replaceAll('\n', ', ') ?? `CN=${wish.name}`,
    notBefore: toDate(wish.notBefore ?? now - hourMs),
    notAfter: toDate(wish.notAfter ?? now + hourMs),
    publicKey: keys.publicKey,
    signingKey: (wish.issuer?.keys ?? keys).privateKey,
    signingAlgorithm: { ...(wish.issuer?.keys ?? keys).privateKey.algorithm, hash: 'SHA-256' },
    extensions: [
      ...(wish.isAuthority === 'unsaid'
        ? []
        : [new x509.BasicConstraintsExtension(wish.isAuthority ?? false, wish.pathLength, true)]),
      ...(wish.usages === undefined ? [] : [new x509.ExtendedKeyUsageExtension([...wish.usages])]),
      ...(wish.extensions ?? []),
    ],
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
  return {
    certificate: new X509Certificate(Buffer.from(made.rawData)),
    pem: `${made.toString('pem').trim()}\n`,
    key: createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
      .export({ format: 'pem', type: 'pkcs8' })
      .toString(),
    keys,
  };
}
