import { constants } from 'node:crypto';

/** Authenticated encryption and forward secrecy only (RFC 9325 §4): the suites of TLS 1.3, then those of TLS 1.2. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

const versionsAndSuites = { minVersion: 'TLSv1.2', ciphers } as const;

/**
 * Options for `https.request`, `tls.connect` and agents: TLS 1.2 and 1.3 with authenticated encryption and forward secrecy only (RFC 9325), and
 * a server whose certificate is verified. Each is set although it is a default, as environment variables change those of Node.
 */
export const secureClientOptions = Object.freeze({ ...versionsAndSuites, rejectUnauthorized: true } as const);

/**
 * Options for `https.createServer`, `http2.createSecureServer` and `setSecureContext` of a service that checks client certificates. Node keeps
 * `authorized` of the first handshake but returns the certificate of the last one, so there must be one handshake a connection: no renegotiation
 * (TLS 1.2; TLS 1.3 has none) and no session to resume, which would outlive its certificate. The versions and suites are those of RFC 9325.
 */
export const secureServerOptions = Object.freeze({
  ...versionsAndSuites,
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const);
