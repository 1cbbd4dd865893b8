import { hash, X509Certificate } from 'node:crypto';
import { PolicyEngineError } from '../errors.ts';

/** A certificate as programs hold it: DER, PEM text, or anything with the DER in `raw`, as Node's two kinds have it. */
export type CertificateInput = Uint8Array | string | { readonly raw: Uint8Array };

/**
 * The base64url SHA-256 of a certificate's DER, as `cnf` of a token names it (`x5t#S256`, RFC 8705 §3.1). Of a PEM text with
 * several certificates it is that of the first, the leaf. Throws `PolicyEngineError('invalid-options')` for anything else.
 */
export function certificateThumbprint(certificate: CertificateInput): string {
  const der = certificateDer(certificate);
  if (der === undefined) throw new PolicyEngineError('invalid-options', 'certificate is not an X.509 certificate');
  return hash('sha256', der, 'base64url');
}

/** DER of a certificate in any accepted form, or `undefined` for anything else. Never throws. */
export function certificateDer(value: unknown): Uint8Array | undefined {
  try {
    if (typeof value === 'string') return new X509Certificate(value).raw;
    const der: unknown = value instanceof Uint8Array ? value : Reflect.get(Object(value), 'raw');
    return der instanceof Uint8Array && der.length > 0 ? der : undefined;
  } catch {
    return undefined;
  }
}
