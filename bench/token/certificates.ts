import 'reflect-metadata';
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const issuingKeyUsages = KeyUsageFlags.keyCertSign + KeyUsageFlags.cRLSign;

/** Authority that signs certificates: the server's from a file, or one made for this run. */
export interface Authority {
  readonly certificate: X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

/** A certificate chain and its key as PEM files. */
export interface Identity {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** A throw-away root, P-256 like everything in this benchmark. */
export async function createAuthority(): Promise<Authority> {
  cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=Benchmark root',
    keys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, undefined, true), new KeyUsagesExtension(issuingKeyUsages, true)],
  });
  return { certificate, key: keys.privateKey };
}

/** An authority whose certificate and P-256 key are PEM files. */
export async function readAuthority(certificateFile: string, keyFile: string): Promise<Authority> {
  cryptoProvider.set(webcrypto);
  const key = createPrivateKey(readFileSync(keyFile)).export({ format: 'der', type: 'pkcs8' });
  return {
    certificate: new X509Certificate(readFileSync(certificateFile, 'utf8')),
    key: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
  };
}

/** Issues a certificate for `CN=<commonName>`, for localhost too, and writes `<folder>/<commonName>.cert.pem` (leaf and issuer) and `.key.pem`. */
export async function issueIdentity(authority: Authority, commonName: string, folder: string): Promise<Identity> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const extensions: Extension[] = [
    new SubjectAlternativeNameExtension([
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ]),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  ];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex'),
    subject: `CN=${commonName}`,
    issuer: authority.certificate.subject,
    signingKey: authority.key,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    extensions,
  });
  const files = {
    certificateFile: join(folder, `${commonName}.cert.pem`),
    keyFile: join(folder, `${commonName}.key.pem`),
  };
  writeFileSync(files.certificateFile, `${certificate.toString('pem')}\n${authority.certificate.toString('pem')}\n`);
  const key = KeyObject.from(keys.privateKey).export({ format: 'pem', type: 'pkcs8' });
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  return files;
}
