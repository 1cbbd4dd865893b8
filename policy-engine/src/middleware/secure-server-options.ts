import { constants } from 'node:crypto';

/**
 * For `https.createServer`, `http2.createSecureServer` and `setSecureContext` of a service that looks at client certificates. Node
 * keeps `authorized` of the first handshake but answers the certificate of the last one, so there must be one handshake a
 * connection: no renegotiation (TLS 1.2; TLS 1.3 has none) and no session to resume, which would outlive its certificate.
 */
export const secureServerOptions = Object.freeze({
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const);
