import { type CertificateInput, certificateDer, certificateThumbprint } from '../token/thumbprint.ts';

/** Thumbprints of the certificates of connections, computed once an object: Node's certificate objects never change. */
export class Thumbprints {
  readonly #known = new WeakMap<object, string>();

  /** True if this is the certificate with the thumbprint; false for anything that is not a certificate. */
  matches(certificate: unknown, thumbprint: string): boolean {
    return this.#of(certificate) === thumbprint;
  }

  #of(certificate: unknown): string | undefined {
    const isHolder = typeof certificate === 'object' && certificate !== null && !ArrayBuffer.isView(certificate);
    const known = isHolder ? this.#known.get(certificate) : undefined;
    if (known !== undefined) return known;
    const der = certificateDer(certificate);
    if (der === undefined) return undefined;
    const thumbprint = certificateThumbprint(der);
    if (isHolder) this.#known.set(certificate, thumbprint);
    return thumbprint;
  }
}

export type { CertificateInput };
