import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Arguments of every peer: paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string;
}

/** Reads the three paths that a peer gets as its arguments. */
export function tlsFilesFromArguments(): TlsFiles {
  const [certificate, key, clientCa] = process.argv.slice(2);
  if (certificate === undefined || key === undefined || clientCa === undefined) {
    throw new Error('usage: <certificate> <key> <client authority>');
  }
  return { certificate, key, clientCa };
}

/** Mutual TLS as Signet's own server has it: a client certificate is needed, kept connections, no session tickets needed. */
export function listen(files: TlsFiles, handler: (baseUrl: string) => RequestListener): void {
  const options: ServerOptions = {
    cert: readFileSync(files.certificate),
    key: readFileSync(files.key),
    ca: readFileSync(files.clientCa),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    keepAliveTimeout: 120_000,
  };
  const server = createServer(options);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    const baseUrl = `https://localhost:${port}`;
    server.on('request', handler(baseUrl));
    process.stdout.write(`${JSON.stringify({ baseUrl })}\n`);
  });
  process.once('SIGTERM', () => {
    server.close();
    server.closeAllConnections();
  });
}
