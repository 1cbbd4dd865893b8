import { createCipheriv, createPrivateKey, type KeyObject, pbkdf2Sync, randomBytes } from 'node:crypto';
import { derNull, octetString, oid, sequence, smallInteger } from '@signet/policy-engine/internal/der';
import { toPem } from './pem.ts';

/* A private key under a passphrase: PKCS#8 (RFC 5958) with PBES2 (RFC 8018), as OpenSSL and everybody else reads it. */

/** Iterations that OWASP advises for HMAC-SHA-256; the default of OpenSSL and Node, 2048, is quickly tried. */
const rounds = 600_000;
const keyBytes = 32;

const pbes2 = oid('1.2.840.113549.1.5.13');
const pbkdf2 = oid('1.2.840.113549.1.5.12');
const hmacWithSha256 = oid('1.2.840.113549.2.9');
const aes256Cbc = oid('2.16.840.1.101.3.4.1.42');

/** A private key as PEM that only this passphrase opens. */
export function encryptPrivateKey(key: KeyObject, passphrase: string): string {
  const [salt, iv] = [randomBytes(16), randomBytes(16)];
  const secret = pbkdf2Sync(passphrase, salt, rounds, keyBytes, 'sha256');
  const cipher = createCipheriv('aes-256-cbc', secret, iv);
  const encrypted = [cipher.update(key.export({ format: 'der', type: 'pkcs8' })), cipher.final()];
  const derivation = sequence(octetString(salt), smallInteger(rounds), sequence(hmacWithSha256, derNull));
  const scheme = sequence(sequence(pbkdf2, derivation), sequence(aes256Cbc, octetString(iv)));
  const der = sequence(sequence(pbes2, scheme), octetString(...encrypted));
  return toPem('ENCRYPTED PRIVATE KEY', der);
}

/** True if a PEM file of a private key requires a passphrase, in PKCS#8 or the older form. */
export function isEncryptedKey(pem: string): boolean {
  return /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem);
}

/** A private key as unencrypted PEM. Throws when the passphrase is not that of the key, or it is no key. */
export function decryptPrivateKey(pem: string, passphrase: string): string {
  return createPrivateKey({ key: pem, passphrase }).export({ format: 'pem', type: 'pkcs8' }).toString();
}
