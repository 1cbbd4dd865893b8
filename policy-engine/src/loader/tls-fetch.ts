import { Readable } from 'node:stream';
import type { KeysFetch, KeysResponse } from '../keys/index.ts';
import { secureClientOptions } from '../middleware/tls-options.ts';

/** PEM texts, as `node:tls` takes them. */
export interface KeysTls {
  /** Authorities that are trusted in place of those of the system. */
  ca?: string | readonly string[];
  /** The own certificate with its chain. */
  cert?: string;
  /** The private key of `cert`. */
  key?: string;
  /**
   * Expected identity in the server's certificate, as services get certificates of the same authority: a principal, a SPIFFE id, or `host-name`
   * for a server with a public certificate. Default `sys.auth.server`.
   */
  serverIdentity?: string;
}

/** A `fetch` over HTTPS with own certificates, from the token server only; redirects are answers like any other. */
export function fetchWithTls(tls: KeysTls | (() => KeysTls)): KeysFetch {
  return async (url, { headers, signal }) => {
    // Loaded on first use: an engine that reads key files needs neither `node:https` nor `node:tls`.
    const [{ request }, { checkServerIs }] = await Promise.all([import('node:https'), import('../server-identity.ts')]);
    const { promise, resolve, reject } = Promise.withResolvers<KeysResponse>();
    const { ca, cert, key, serverIdentity } = typeof tls === 'function' ? tls() : tls;
    const asked = request(url, {
      headers,
      signal,
      agent: false,
      ...secureClientOptions,
      checkServerIdentity: checkServerIs(serverIdentity),
      ...(ca !== undefined && { ca: typeof ca === 'string' ? ca : [...ca] }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
    asked.on('response', (answer) => resolve({ status: answer.statusCode ?? 0, body: Readable.toWeb(answer) }));
    asked.on('error', reject);
    asked.end();
    return promise;
  };
}
