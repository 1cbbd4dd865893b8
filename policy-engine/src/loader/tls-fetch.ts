import { request } from 'node:https';
import { Readable } from 'node:stream';
import type { KeysFetch, KeysResponse } from '../keys/index.ts';

/** PEM texts, as `node:tls` takes them. */
export interface KeysTls {
  /** Authorities that are trusted in place of those of the system. */
  ca?: string | readonly string[];
  /** The own certificate with its chain. */
  cert?: string;
  /** The private key of `cert`. */
  key?: string;
}

/** A `fetch` over HTTPS with own certificates; redirects are answers like any other. */
export function fetchWithTls(tls: KeysTls | (() => KeysTls)): KeysFetch {
  return (url, { headers, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<KeysResponse>();
    const { ca, cert, key } = typeof tls === 'function' ? tls() : tls;
    const asked = request(url, {
      headers,
      signal,
      agent: false,
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
