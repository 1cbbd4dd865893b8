import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import * as x509 from '@peculiar/x509';
import type { Authority } from './certificate-authority.ts';

/** Reads an authority that `createAuthorities` made from its two PEM files. Throws when they cannot be used. */
export async function loadAuthority(certificateFile: string, keyFile: string): Promise<Authority> {
  const [certificate, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const pkcs8 = x509.PemConverter.decodeFirst(key);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const signingKey = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
  return { certificate, key, parsed: new x509.X509Certificate(certificate), signingKey };
}
