import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** The authority of a request: a host, and a port that tells nothing here. */
const authorityGrammar = /^(?:([A-Za-z0-9._~-]+?)\.?|\[([0-9A-Fa-f:.]+)\])(?::\d{1,5})?$/;

/** Host of an authority, without brackets and the dot at its end; undefined if malformed (RFC 9112 §3.2). */
export function hostOfAuthority(authority: string): string | undefined {
  const parts = authorityGrammar.exec(authority);
  return parts?.[1] ?? parts?.[2];
}

/**
 * Predicate for the server's own hosts (RFC 9110 §7.4): those that its certificate names, as any client that checks it asks for one of them, and
 * the one of its base URL.
 */
export function ownHosts(certificate: X509Certificate, baseUrl: string): (host: string) => boolean {
  const base = hostOfAuthority(new URL(baseUrl).host);
  const isNamed = (host: string) =>
    (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined;
  // Cache: nearly all clients ask for the same one.
  let last = base;
  return (asked) => {
    if (asked === last) return true;
    const host = asked.toLowerCase();
    if (host !== base && !isNamed(host)) return false;
    last = asked;
    return true;
  };
}
