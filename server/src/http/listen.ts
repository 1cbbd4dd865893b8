import type { Server } from 'node:net';

interface ListenAt {
  readonly host: string;
  readonly port: number;
  /** True if other processes may listen there, too: the kernel gives each a share of the connections. */
  readonly reusePort: boolean;
  /** The option that says the port; the others say less than the message of Node where it is left out. */
  readonly option?: string;
}

/** Listens; answers the port. Throws what listening throws, and says what to do where `option` is known. */
export function listen(server: Server, { host, port, reusePort, option }: ListenAt): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onError = (error: NodeJS.ErrnoException) =>
    reject(option === undefined ? error : explained(error, `${option}: port ${port} of \`${host}\``));
  server.once('error', onError);
  server.listen({ host, port, reusePort }, () => {
    server.off('error', onError);
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
  });
  return promise;
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: stop the other program (`ss -ltnp` shows it), or use another port',
  EACCES: 'requires privileges: use a port from 1024 on, or grant the program CAP_NET_BIND_SERVICE',
  EADDRNOTAVAIL: 'is not an address of this machine: use one of its addresses, or 0.0.0.0 or `::` for all of them',
};

/** The error with its code, the place and what to do. */
function explained(cause: NodeJS.ErrnoException, place: string): Error {
  const remedy = remedies[cause.code ?? ''];
  if (remedy === undefined) return cause;
  return Object.assign(new Error(`${place} ${remedy} (${cause.code})`, { cause }), { code: cause.code });
}
