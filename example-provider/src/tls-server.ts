import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { secureServerOptions } from '@signet/policy-engine';
import type Koa from 'koa';
import type { ProviderConfig } from './provider-config.ts';

/** PEM texts of the own certificate and its key, and of the authorities of clients' certificates. */
interface TlsTexts {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The files of a service, and what of them is in use. */
interface TlsFiles {
  readonly current: TlsTexts;
  /** Counter of removals of authorities. */
  readonly generation: number;
  /** Reads them again and, when one has changed, puts them into use. `use` may refuse them by throwing: the old certificate stays in use then. */
  reload(use: (texts: TlsTexts) => void): void;
}

export function readTlsFiles(tls: ProviderConfig['tls']): TlsFiles {
  const readOwn = () => ({ cert: readFileSync(tls.certificate, 'utf8'), key: readFileSync(tls.key, 'utf8') });
  const readAuthorities = () => readFileSync(tls.clientCa, 'utf8');
  let current: TlsTexts = { ...readOwn(), ca: readAuthorities() };
  let generation = 0;
  const take = (next: TlsTexts, use: (texts: TlsTexts) => void): void => {
    if (next.cert === current.cert && next.key === current.key && next.ca === current.ca) return;
    use(next);
    const kept = new Set(authoritiesIn(next.ca));
    if (!authoritiesIn(current.ca).every((authority) => kept.has(authority))) generation += 1;
    current = next;
  };
  return {
    get generation() {
      return generation;
    },
    get current() {
      return current;
    },
    reload(use) {
      const ca = readAuthorities();
      try {
        take({ ...readOwn(), ca }, use);
      } catch (error) {
        // Removed authorities take effect even if the own certificate cannot be loaded.
        take({ ...current, ca }, use);
        throw error;
      }
    },
  };
}

function authoritiesIn(pem: string): string[] {
  return pem.replace(/\r/g, '').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

interface ConnectionTrust {
  /** Follows the connections of a server that does not listen yet. */
  watch(server: Server): void;
  /** True if no authority was removed since the connection began. */
  isTrusted(connection: Socket): boolean;
}

/** Node does not keep the chain that a client has sent, so it cannot be verified again: who is in doubt connects again. */
export function connectionTrust(files: Pick<TlsFiles, 'generation'>): ConnectionTrust {
  /** A TLS connection is another object than the one below it: their ends are the same. */
  const begun = new Map<string, number>();
  const known = new WeakMap<Socket, number>();
  return {
    watch(server) {
      server.on('connection', (socket: Socket) => {
        const ends = endsOf(socket);
        begun.set(ends, files.generation);
        socket.once('close', () => begun.delete(ends));
      });
      server.on('secureConnection', (socket) => {
        const generation = begun.get(endsOf(socket));
        if (generation !== undefined) known.set(socket, generation);
      });
    },
    isTrusted: (connection) => known.get(connection) === files.generation,
  };
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/**
 * HTTPS that asks every client for a certificate. A connection without one, or with one that the CA did not issue, is served all the
 * same, so that it gets an answer (403) in place of a broken handshake: `socket.authorized` says which is which.
 */
export function createTlsServer(files: TlsFiles, app: Koa): Server {
  return createServer(
    {
      ...files.current,
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

/** Interval of checks of the files: certificates are renewed days before they expire. */
const reloadMs = 10_000;

/**
 * Reloads renewed certificates and other authorities for new connections, until the server is closed; files that cannot be used, or half
 * written, leave the old ones in use and are reported once. They are read by their names each time, so that it does not matter how they were
 * replaced.
 */
export function followFiles(
  server: Server,
  files: TlsFiles,
  onError: (error: unknown) => void,
  intervalMs: number = reloadMs,
): void {
  let problem: string | undefined;
  const timer = setInterval(() => {
    try {
      files.reload((texts) => {
        createSecureContext({ ...secureServerOptions, ...texts });
        server.setSecureContext({ ...secureServerOptions, ...texts });
      });
      problem = undefined;
    } catch (error) {
      if (String(error) !== problem) onError(error);
      problem = String(error);
    }
  }, intervalMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

/** Starts to listen and answers the address as a URL. */
export async function listen(server: Server, { host, port }: ProviderConfig['listen']): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EADDRINUSE') throw cause;
    const remedy = 'end the program that has it, or take another port (of `signet dev`: `--provider-port`)';
    throw new Error(`listen.port: port ${port} of \`${host}\` is in use: ${remedy} (${cause.code})`, { cause });
  });
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return `https://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}
