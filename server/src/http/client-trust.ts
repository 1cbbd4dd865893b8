import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endsOf } from './connections.ts';

/** The authorities that client certificates must chain to now. Connections outlive them: an old one is looked at again. */
export interface ClientTrust {
  /** Counter of removals of authorities. */
  readonly generation: number;
  /** The generation in which the handshake of a connection began; -1 when that is not known. */
  handshakeOf(connection: object): number;
  /** True if a certificate that a handshake has verified chains to one of the authorities, as far as its chain is known here. */
  trusts(certificate: X509Certificate): boolean;
  /** True if it chains to an authority that was removed, as far as its chain is known here. */
  isWithdrawn(certificate: X509Certificate): boolean;
}

/** The part of a connection that is looked at. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort' | 'once'>;

/** The same, computed once for the same text as the last time. */
function memoized<Result>(compute: (text: string) => Result): (text: string) => Result {
  let last: { readonly text: string; readonly result: Result } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: compute(text) };
    return last.result;
  };
}

/** Authorities that were removed and are remembered: connections of before are over long before there are as many. */
const removedKept = 100;

/** Maximum length of a followed chain. */
const maxChain = 8;

function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function issuerIn(certificates: readonly X509Certificate[], certificate: X509Certificate): X509Certificate | undefined {
  return certificates.find((issuer) => certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey));
}

/** True if one of `authorities` has issued the certificate, or one of `chain` on the way to it. */
function leadsTo(
  authorities: readonly X509Certificate[],
  certificate: X509Certificate,
  chain: readonly X509Certificate[],
): boolean {
  let current: X509Certificate | undefined = certificate;
  for (let length = 0; current !== undefined && length < maxChain; length += 1) {
    if (issuerIn(authorities, current) !== undefined) return true;
    current = issuerIn(chain, current);
  }
  return false;
}

/**
 * Reads the authorities of a PEM file. Node does not keep the chain that a client has sent, so those of `intermediates` (PEM) replace it: a
 * client with another chain must connect again. `began` is called for each connection before its handshake, `met` after it. `reload` reloads the
 * file and throws, changing nothing, when it cannot be read.
 */
export function openClientTrust(
  file: string,
  intermediates: () => string,
): ClientTrust & { began(connection: Peer): void; met(connection: Peer): void; reload(): void } {
  let authorities = certificatesIn(readFileSync(file, 'utf8'));
  let removed: readonly X509Certificate[] = [];
  let generation = 0;
  const handshakes = new WeakMap<object, number>();
  /** A TLS connection is another object than the one below it: they have their ends in common. */
  const begun = new Map<string, number>();
  const known = memoized(certificatesIn);
  return {
    began(connection) {
      const ends = endsOf(connection);
      begun.set(ends, generation);
      connection.once('close', () => begun.delete(ends));
    },
    met(connection) {
      const began = begun.get(endsOf(connection));
      if (began !== undefined) handshakes.set(connection, began);
    },
    handshakeOf: (connection) => handshakes.get(connection) ?? -1,
    get generation() {
      return generation;
    },
    trusts: (certificate) => leadsTo(authorities, certificate, known(intermediates())),
    isWithdrawn: (certificate) => leadsTo(removed, certificate, known(intermediates())),
    reload() {
      const next = certificatesIn(readFileSync(file, 'utf8'));
      const isKept = (old: X509Certificate) => next.some((certificate) => certificate.raw.equals(old.raw));
      const gone = authorities.filter((old) => !isKept(old));
      if (gone.length > 0) generation += 1;
      removed = [...removed, ...gone].slice(-removedKept);
      authorities = next;
    },
  };
}
