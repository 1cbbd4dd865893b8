import { encodeBase64url } from '../base64url.ts';

const pemCertificate = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

/** Thumbprint of `certificateThumbprint`, by WebCrypto; `undefined` for anything that is not a certificate. Never rejects. */
export async function webThumbprint(certificate: unknown): Promise<string | undefined> {
  const der = derOf(certificate);
  if (der === undefined || der.length === 0) return undefined;
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(der))));
}

function derOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return decodePem(value);
  if (value instanceof Uint8Array) return value;
  if (typeof value !== 'object' || value === null || !('raw' in value)) return undefined;
  return value.raw instanceof Uint8Array ? value.raw : undefined;
}

function decodePem(text: string): Uint8Array | undefined {
  const body = pemCertificate.exec(text)?.[1];
  try {
    return body === undefined ? undefined : Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
