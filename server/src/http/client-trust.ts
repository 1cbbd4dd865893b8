import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The authorities that client certificates must chain to now. Connections outlive them: an old one is looked at again. */
export interface ClientTrust {
  /** Grows when an authority was taken away. */
  readonly generation: number;
  /** The generation in which the handshake of a connection ended. */
  handshakeOf(connection: object): number;
  /** Whether a certificate that a handshake has verified chains to one of the authorities, as far as its chain is known here. */
  trusts(certificate: X509Certificate): boolean;
}

/** Longer chains are not followed. */
const maxChain = 8;

function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function issuerIn(certificates: readonly X509Certificate[], certificate: X509Certificate): X509Certificate | undefined {
  return certificates.find((issuer) => certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey));
}

/**
 * Reads the authorities of a PEM file. Node does not keep the chain that a client has sent, so those of `intermediates` (PEM) stand in for
 * it: who has another chain must connect anew. `met` is told of each handshake. `reload` takes the file anew and throws, changing nothing, when it cannot be read.
 */
export function openClientTrust(
  file: string,
  intermediates: () => string,
): ClientTrust & { met(connection: object): void; reload(): void } {
  let authorities = certificatesIn(readFileSync(file, 'utf8'));
  let generation = 0;
  const handshakes = new WeakMap<object, number>();
  return {
    met: (connection) => void handshakes.set(connection, generation),
    handshakeOf: (connection) => handshakes.get(connection) ?? -1,
    get generation() {
      return generation;
    },
    trusts(certificate) {
      const known = certificatesIn(intermediates());
      let current: X509Certificate | undefined = certificate;
      for (let length = 0; current !== undefined && length < maxChain; length += 1) {
        if (issuerIn(authorities, current) !== undefined) return true;
        current = issuerIn(known, current);
      }
      return false;
    },
    reload() {
      const next = certificatesIn(readFileSync(file, 'utf8'));
      const isKept = (old: X509Certificate) => next.some((certificate) => certificate.raw.equals(old.raw));
      if (!authorities.every(isKept)) generation += 1;
      authorities = next;
    },
  };
}
