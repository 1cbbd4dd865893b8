import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { secureServerOptions } from '@signet/policy-engine';
import type Koa from 'koa';
import type { ProviderConfig } from './config.ts';

/**
 * HTTPS that asks every client for a certificate. A connection without one, or with one that the CA did not issue, is served all the
 * same, so that it gets an answer (403) in place of a broken handshake: `socket.authorized` says which is which.
 */
export function createTlsServer(tls: ProviderConfig['tls'], app: Koa): Server {
  return createServer(
    {
      cert: readFileSync(tls.certificate),
      key: readFileSync(tls.key),
      ca: readFileSync(tls.clientCa),
      requestCert: true,
      rejectUnauthorized: false,
      ...secureServerOptions,
      handshakeTimeout: 20_000,
      headersTimeout: 20_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 60_000,
    },
    app.callback(),
  );
}

/** How often the files are looked at: certificates are renewed days before they end. */
const reloadMs = 10_000;

/** Takes a renewed certificate into use on new connections; one that is unfit, or half written, leaves the old one in use. */
export function followFiles(server: Server, tls: ProviderConfig['tls'], onError: (error: unknown) => void): Disposable {
  let inUse = readFileSync(tls.certificate, 'utf8');
  const timer = setInterval(() => {
    try {
      const cert = readFileSync(tls.certificate, 'utf8');
      if (cert === inUse) return;
      server.setSecureContext({
        ...secureServerOptions,
        cert,
        key: readFileSync(tls.key),
        ca: readFileSync(tls.clientCa),
      });
      inUse = cert;
    } catch (error) {
      onError(error);
    }
  }, reloadMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Starts to listen and answers the address as a URL. */
export async function listen(server: Server, { host, port }: ProviderConfig['listen']): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return `https://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}

/** Takes no new request, lets those in flight end within `graceMs`, then ends them. */
export async function drain(server: Server, graceMs: number): Promise<void> {
  // So that a connection ends with the answer to its last request.
  server.keepAliveTimeout = 1;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
