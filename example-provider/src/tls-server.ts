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
      ...readTls(tls),
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

/**
 * Takes a renewed certificate, key or CA bundle into use on new connections; what is unfit, or half written, leaves the old ones in
 * use and is told once. The files are read by their names each time, so that it does not matter how they were replaced.
 */
export function followFiles(
  server: Server,
  tls: ProviderConfig['tls'],
  onError: (error: unknown) => void,
  intervalMs: number = reloadMs,
): Disposable {
  let inUse = JSON.stringify(readTls(tls));
  let problem: string | undefined;
  const timer = setInterval(() => {
    try {
      const texts = readTls(tls);
      if (JSON.stringify(texts) === inUse) return;
      server.setSecureContext({ ...secureServerOptions, ...texts });
      inUse = JSON.stringify(texts);
      problem = undefined;
    } catch (error) {
      if (String(error) !== problem) onError(error);
      problem = String(error);
    }
  }, intervalMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function readTls(tls: ProviderConfig['tls']): { readonly cert: string; readonly key: string; readonly ca: string } {
  const read = (file: string) => readFileSync(file, 'utf8');
  return { cert: read(tls.certificate), key: read(tls.key), ca: read(tls.clientCa) };
}

/** Starts to listen and answers the address as a URL. */
export async function listen(server: Server, { host, port }: ProviderConfig['listen']): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return `https://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}
